//! The parts that versions share and only one of them uses. Nothing uses them once that version is removed.

use std::collections::BTreeSet;

use adapter_kit::shape::Source;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::{List, Lists, RecordField as _};

/// Returns what `version` uses and none of `others` does, in lines such as `rule study_mode`: endpoints, rules and gates,
/// fields of the dictionary, codes of the lists, and the forms and terms of replies. Rules and fields of the version's own
/// crate are included where they have a name of their own.
#[must_use]
pub fn only_used_by(version: &ApiVersion, others: &[&ApiVersion], lists: &Lists) -> Vec<String> {
    let kept: BTreeSet<String> = others.iter().flat_map(|other| parts(other, lists)).collect();
    let mut only = BTreeSet::new();
    let parts = parts(version, lists).into_iter();
    parts.filter(|part| !kept.contains(part) && only.insert(part.clone())).collect()
}

/// Everything that a version uses.
fn parts(version: &ApiVersion, lists: &Lists) -> Vec<String> {
    let mut parts: Vec<String> = version.endpoints.all().map(|endpoint| format!("endpoint {endpoint:?}")).collect();
    parts.extend(for_each_record!(rules(version)).concat());
    parts.extend(version.rules.gates.iter().map(|gate| format!("rule {}", gate.name)));
    parts.extend(for_each_record!(fields(version)).concat());
    for list in List::ALL {
        let accepted = lists.codes(*list).filter(|code| version.accepted_codes.accepts(*list, code));
        parts.extend(accepted.map(|code| format!("code {code} of {}", list.name())));
    }
    parts.extend(version.accepted_codes.funding_exception_years.iter().map(|year| format!("funding exception {year}")));
    parts.push(format!("nested errors {:?}", version.nested_errors));
    parts.push(format!("nested records in lists {:?}", version.shapes.nested_in_lists));
    parts.push(format!("term {}", version.vocabulary.training_partner));
    parts
}

fn rules<R: WireRecord>(version: &ApiVersion) -> Vec<String> {
    R::rules(version).iter().map(|rule| format!("rule {}", rule.name)).collect()
}

fn fields<R: WireRecord>(version: &ApiVersion) -> Vec<String> {
    let shown = R::shape(version).into_iter().flat_map(|shape| shape.entries).filter_map(|entry| match &entry.source {
        Source::Field(field) => Some(*field),
        Source::Own(_) => None,
    });
    let set = R::inputs(version).entries.iter().map(|input| input.field);
    shown.chain(set).map(|field| format!("field {} of {}", field.info().name, R::NAME)).collect()
}

#[cfg(test)]
mod tests {
    use adapter_kit::version::{AllInputs, Endpoints, NestedErrors, NestedVisibility, Shapes, Vocabulary};
    use adapter_kit::{Endpoint, Inputs, inputs};
    use conformance::sample_version::SAMPLE_VERSION;
    use domain::rules::{Rule, Rules, gates, personal};
    use domain::{AcceptedCodes, Deferral, DeferralField, Trainee};

    use super::*;

    const NONE: [&str; 0] = [];

    fn only(version: &ApiVersion, others: &[&ApiVersion]) -> Vec<String> {
        only_used_by(version, others, Lists::embedded())
    }

    #[test]
    fn what_another_version_uses_too_is_not_listed() {
        assert_eq!(only(&SAMPLE_VERSION, &[&SAMPLE_VERSION]), NONE);
        let smaller = ApiVersion { endpoints: Endpoints { available: &[], deprecated: &[] }, ..SAMPLE_VERSION };
        assert_eq!(only(&smaller, &[&SAMPLE_VERSION]), NONE);
        assert_eq!(only(&SAMPLE_VERSION, &[&smaller, &SAMPLE_VERSION]), NONE);
    }

    #[test]
    fn endpoints_of_every_version_are_never_listed() {
        let smaller = ApiVersion { endpoints: Endpoints { available: &[], deprecated: &[] }, ..SAMPLE_VERSION };
        let own: Vec<String> =
            SAMPLE_VERSION.endpoints.available.iter().map(|endpoint| format!("endpoint {endpoint:?}")).collect();
        assert_eq!(only(&SAMPLE_VERSION, &[&smaller])[..own.len()], own);
        for endpoint in Endpoint::ADDITIONS {
            assert!(!only(&SAMPLE_VERSION, &[&smaller]).contains(&format!("endpoint {endpoint:?}")));
        }
    }

    #[test]
    fn each_kind_of_part_that_only_one_version_uses_is_listed() {
        const RULES: &[Rule<Trainee>] = &[personal::NOT_TOO_OLD];
        const WHY: Inputs<Deferral> = inputs! { Deferral, DeferralField: why = defer_reason };
        const DATE: Inputs<Deferral> = inputs! { Deferral, DeferralField: defer_date };
        let rules = Rules { trainee: RULES, gates: &[gates::FINISHED_RECORDS], ..SAMPLE_VERSION.rules };
        let version = ApiVersion {
            rules,
            inputs: AllInputs { deferral: WHY, ..SAMPLE_VERSION.inputs },
            shapes: Shapes { nested_in_lists: NestedVisibility::Shown, ..SAMPLE_VERSION.shapes },
            accepted_codes: AcceptedCodes { funding_exception_years: &[2020], ..AcceptedCodes::ALL },
            nested_errors: NestedErrors::Nested,
            vocabulary: Vocabulary { training_partner: "friend" },
            ..SAMPLE_VERSION
        };
        let route = Lists::embedded().codes(List::TrainingRoute).collect::<Vec<_>>();
        let accepted: &'static [&'static str] = vec![route[0]].leak();
        let narrowed: &'static [_] = vec![(List::TrainingRoute, accepted)].leak();
        let other = ApiVersion {
            accepted_codes: AcceptedCodes { accepted: narrowed, ..AcceptedCodes::ALL },
            rules: Rules { trainee: &[], gates: &[], ..SAMPLE_VERSION.rules },
            inputs: AllInputs { deferral: DATE, ..SAMPLE_VERSION.inputs },
            shapes: Shapes { nested_in_lists: NestedVisibility::Hidden, ..SAMPLE_VERSION.shapes },
            nested_errors: NestedErrors::Flat,
            ..SAMPLE_VERSION
        };
        let mut expected: Vec<String> =
            [personal::NOT_TOO_OLD.name, gates::FINISHED_RECORDS.name].map(|name| format!("rule {name}")).to_vec();
        expected.push("field defer_reason of deferral".to_owned());
        expected.extend(route[1..].iter().map(|code| format!("code {code} of {}", List::TrainingRoute.name())));
        expected.extend(
            ["funding exception 2020", "nested errors Nested", "nested records in lists Shown", "term friend"]
                .map(str::to_owned),
        );
        assert_eq!(only(&version, &[&other]), expected);
    }
}
