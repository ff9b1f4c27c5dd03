//! Finds shared parts that only one version uses. They can be removed together with that version.

use std::collections::BTreeSet;

use adapter_kit::shape::{Source, group_of};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord, for_each_record};
use adapter_kit::{Envelope, Wire};
use domain::{List, Lists, RecordField as _, for_each_nested};

/// Returns the parts that `version` uses and none of `others` uses, in lines such as
/// `rule study_mode`. Parts are endpoints, rules and gates, kinds of nested records, fields of the
/// dictionary, codes of the lists, and the forms and terms of replies. Rules and fields from the
/// version's own crate are included if they have their own names.
#[must_use]
pub fn only_used_by(version: &ApiVersion, others: &[&ApiVersion], lists: &Lists) -> Vec<String> {
    let kept: BTreeSet<String> = others
        .iter()
        .flat_map(|other| parts(other, lists))
        .collect();
    let mut seen = BTreeSet::new();
    let parts = parts(version, lists).into_iter();
    parts
        // Inserting fails for duplicates.
        .filter(|part| !kept.contains(part) && seen.insert(part.clone()))
        .collect()
}

/// Returns the shared parts that a version uses, in lines such as `rule study_mode`.
fn parts(version: &ApiVersion, lists: &Lists) -> Vec<String> {
    let mut parts: Vec<String> = version
        .endpoints
        .all()
        .map(|endpoint| format!("endpoint {endpoint:?}"))
        .collect();
    parts.extend(for_each_record!(rules(version)).concat());
    parts.extend(
        version
            .rules
            .gates
            .iter()
            .map(|gate| format!("rule {}", gate.name)),
    );
    parts.extend(for_each_nested!(nested(version)).into_iter().flatten());
    parts.extend(for_each_record!(fields(version)).concat());
    for list in List::ALL {
        let accepted = lists
            .codes(*list)
            .filter(|code| version.accepted_codes.accepts(*list, code));
        parts.extend(accepted.map(|code| format!("code {code} of {}", list.name())));
    }
    parts.extend(
        version
            .accepted_codes
            .funding_exception_years
            .iter()
            .map(|year| format!("funding exception {year}")),
    );
    parts.push(format!("nested errors {:?}", version.nested_errors));
    parts.push(format!(
        "nested records in lists {:?}",
        version.shapes.nested_in_lists
    ));
    parts.push(format!("term {}", version.vocabulary.training_partner));
    parts.extend(
        for_each_record!(forms(version))
            .concat()
            .into_iter()
            .map(|form| format!("form of {form}")),
    );
    let filters = version.inputs.filters.iter();
    parts.extend(filters.map(|(filter, _)| format!("form of filter {}", filter.name())));
    parts.extend(wire_forms(&version.wire));
    parts
}

/// Returns the name of a kind of nested record if the version shows it; otherwise `None`.
fn nested<R: WireNested>(version: &ApiVersion) -> Option<String> {
    (!R::shapes(version).is_empty()).then(|| format!("nested record {}", R::NAME))
}

/// Returns the wire forms of fields that a version uses: groups, joined texts, and types and
/// defaults of inputs.
fn forms<R: WireRecord>(version: &ApiVersion) -> Vec<&'static str> {
    let shown = R::shape(version)
        .into_iter()
        .flat_map(|shape| shape.entries);
    let shown_forms = shown.flat_map(|entry| {
        let read_only = entry.read_only.then_some("read-only fields");
        [
            entry.group.map(|_| "fields in a group"),
            entry.part.map(|_| "fields joined into a text"),
            entry.form.map(|_| "fields in another form"),
            read_only,
        ]
    });
    let input_forms = R::inputs(version).entries.iter().flat_map(|input| {
        [
            group_of(input.name).map(|_| "inputs in a group"),
            input.part.map(|_| "inputs joined into a text"),
            input.accepts.map(|_| "inputs of one type"),
            input.form.map(|_| "inputs in another form"),
            input.default.map(|_| "inputs with a default"),
        ]
    });
    shown_forms.chain(input_forms).flatten().collect()
}

/// Returns the parts of a version's JSON that are written differently from the common form: words
/// for codes, page details, links and errors.
fn wire_forms(wire: &Wire) -> Vec<String> {
    let mut forms: Vec<String> = wire
        .words
        .iter()
        .map(|(list, _)| format!("words of {}", list.name()))
        .collect();
    let mut add_if =
        |differs: bool, form: &str| forms.extend(differs.then(|| format!("form of {form}")));
    let Envelope {
        list,
        page,
        page_size,
        record,
        request,
        record_links,
    } = wire.envelope;
    let common = Envelope::COMMON;
    let has_own_pages = (list, page, page_size) != (common.list, common.page, common.page_size);
    add_if(has_own_pages, "pages");
    add_if(record != common.record, "replies with one record");
    add_if(request != common.request, "requests");
    add_if(record_links, "links of records");
    add_if(!wire.problems.is_common(), "errors");
    let endpoints = wire.endpoints.iter();
    forms.extend(endpoints.map(|(endpoint, _)| format!("row of endpoint {endpoint:?}")));
    forms
}

fn rules<R: WireRecord>(version: &ApiVersion) -> Vec<String> {
    R::rules(version)
        .iter()
        .map(|rule| format!("rule {}", rule.name))
        .collect()
}

/// Returns the fields of the dictionary that the version shows or reads, in lines such as
/// `field email of trainee`.
fn fields<R: WireRecord>(version: &ApiVersion) -> Vec<String> {
    let shown = R::shape(version)
        .into_iter()
        .flat_map(|shape| shape.entries)
        .filter_map(|entry| match &entry.source {
            Source::Field(field) => Some(*field),
            Source::Own(_) => None,
        });
    let sent = R::inputs(version).entries.iter().map(|input| input.field);
    shown
        .chain(sent)
        .map(|field| format!("field {} of {}", field.info().name, R::NAME))
        .collect()
}

#[cfg(test)]
mod tests {
    use adapter_kit::version::{
        AllInputs, Endpoints, NestedErrors, NestedVisibility, Shapes, Vocabulary,
    };
    use adapter_kit::{Endpoint, Inputs, inputs};
    use conformance::form_version::FORM_VERSION;
    use conformance::sample_version::SAMPLE_VERSION;
    use conformance::wire_version::WIRE_VERSION;
    use domain::rules::{Rule, Rules, gates, personal};
    use domain::{AcceptedCodes, Deferral, DeferralField, Trainee};

    use super::*;

    const NONE: [&str; 0] = [];
    const WITHOUT_ENDPOINTS: ApiVersion = ApiVersion {
        endpoints: Endpoints {
            available: &[],
            deprecated: &[],
        },
        ..SAMPLE_VERSION
    };

    fn only(version: &ApiVersion, others: &[&ApiVersion]) -> Vec<String> {
        only_used_by(version, others, Lists::embedded())
    }

    #[test]
    fn parts_used_by_another_version_are_not_listed() {
        assert_eq!(only(&SAMPLE_VERSION, &[&SAMPLE_VERSION]), NONE);
        assert_eq!(only(&WITHOUT_ENDPOINTS, &[&SAMPLE_VERSION]), NONE);
        assert_eq!(
            only(&SAMPLE_VERSION, &[&WITHOUT_ENDPOINTS, &SAMPLE_VERSION]),
            NONE
        );
    }

    #[test]
    fn endpoints_of_every_version_are_never_listed() {
        let own: Vec<String> = SAMPLE_VERSION
            .endpoints
            .available
            .iter()
            .map(|endpoint| format!("endpoint {endpoint:?}"))
            .collect();
        assert_eq!(
            only(&SAMPLE_VERSION, &[&WITHOUT_ENDPOINTS])[..own.len()],
            own
        );
        for endpoint in Endpoint::ADDITIONS {
            assert!(
                !only(&SAMPLE_VERSION, &[&WITHOUT_ENDPOINTS])
                    .contains(&format!("endpoint {endpoint:?}"))
            );
        }
    }

    #[test]
    fn wire_forms_of_only_one_version_are_listed() {
        let forms: Vec<String> = only(&WIRE_VERSION, &[&SAMPLE_VERSION])
            .into_iter()
            .filter(|part| part.starts_with("form ") || part.starts_with("words "))
            .collect();
        let expected = [
            "form of read-only fields",
            "form of fields in a group",
            "form of fields joined into a text",
            "form of inputs of one type",
            "form of inputs with a default",
            "form of inputs in a group",
            "form of inputs joined into a text",
            "words of degree_grade",
            "words of study_mode",
            "form of pages",
            "form of replies with one record",
            "form of requests",
            "form of links of records",
            "form of errors",
        ];
        assert_eq!(forms, expected);
        assert_eq!(
            only(&SAMPLE_VERSION, &[&WIRE_VERSION])
                .iter()
                .filter(|part| part.starts_with("form "))
                .count(),
            0
        );
    }

    #[test]
    fn other_forms_of_only_one_version_are_listed() {
        let parts = only(&FORM_VERSION, &[&SAMPLE_VERSION]);
        for form in [
            "form of fields in another form",
            "form of inputs in another form",
            "form of filter has_trn",
        ] {
            assert!(parts.iter().any(|part| part == form), "{parts:?}");
        }
    }

    #[test]
    fn nested_record_of_only_one_version_is_listed() {
        let shapes = Shapes {
            degree: Shapes::NONE.degree,
            ..SAMPLE_VERSION.shapes
        };
        let without = ApiVersion {
            shapes,
            ..SAMPLE_VERSION
        };
        assert!(only(&SAMPLE_VERSION, &[&without]).contains(&"nested record degree".to_owned()));
    }

    #[test]
    fn other_parts_of_only_one_version_are_listed() {
        const RULES: &[Rule<Trainee>] = &[personal::NOT_TOO_OLD];
        const WHY: Inputs<Deferral> = inputs! { Deferral, DeferralField: why = defer_reason };
        const DATE: Inputs<Deferral> = inputs! { Deferral, DeferralField: defer_date };
        let rules = Rules {
            trainee: RULES,
            gates: &[gates::FINISHED_RECORDS],
            ..SAMPLE_VERSION.rules
        };
        let version = ApiVersion {
            rules,
            inputs: AllInputs {
                deferral: WHY,
                ..SAMPLE_VERSION.inputs
            },
            shapes: Shapes {
                nested_in_lists: NestedVisibility::Shown,
                ..SAMPLE_VERSION.shapes
            },
            accepted_codes: AcceptedCodes {
                funding_exception_years: &[2020],
                ..AcceptedCodes::ALL
            },
            nested_errors: NestedErrors::Nested,
            vocabulary: Vocabulary {
                training_partner: "friend",
            },
            ..SAMPLE_VERSION
        };
        let route = Lists::embedded()
            .codes(List::TrainingRoute)
            .collect::<Vec<_>>();
        let accepted: &'static [&'static str] = vec![route[0]].leak();
        let narrowed: &'static [_] = vec![(List::TrainingRoute, accepted)].leak();
        let other = ApiVersion {
            accepted_codes: AcceptedCodes {
                accepted: narrowed,
                ..AcceptedCodes::ALL
            },
            rules: Rules {
                trainee: &[],
                gates: &[],
                ..SAMPLE_VERSION.rules
            },
            inputs: AllInputs {
                deferral: DATE,
                ..SAMPLE_VERSION.inputs
            },
            shapes: Shapes {
                nested_in_lists: NestedVisibility::Hidden,
                ..SAMPLE_VERSION.shapes
            },
            nested_errors: NestedErrors::Flat,
            ..SAMPLE_VERSION
        };
        let mut expected: Vec<String> = [personal::NOT_TOO_OLD.name, gates::FINISHED_RECORDS.name]
            .map(|name| format!("rule {name}"))
            .to_vec();
        expected.push("field defer_reason of deferral".to_owned());
        expected.extend(
            route[1..]
                .iter()
                .map(|code| format!("code {code} of {}", List::TrainingRoute.name())),
        );
        expected.extend(
            [
                "funding exception 2020",
                "nested errors Nested",
                "nested records in lists Shown",
                "term friend",
            ]
            .map(str::to_owned),
        );
        assert_eq!(only(&version, &[&other]), expected);
    }
}
