//! The shape document of a version: the parts of its contract that the OpenAPI document does not
//! contain.
//!
//! These are the order of fields, all accepted codes, the rules that apply, the vocabulary, and the
//! forms of written values. Together, the OpenAPI document and the shape document are the contract
//! of a version (`snapshots/`). A form appears only if it differs from the common one, so that a new
//! kind of form does not change the documents of released versions.

use adapter_kit::shape::{JsonType, Shape};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord, for_each_record};
use adapter_kit::{Envelope, PageMember};
use domain::fields::field::Codes;
use domain::{List, Lists, Record, RecordField as _, Trainee, for_each_nested};
use serde_json::{Map, Value, json};

/// Returns the shape document of a version.
#[must_use]
pub fn describe(version: &ApiVersion, lists: &Lists) -> Value {
    let mut rules = Map::from_iter(for_each_record!(rules(version)).into_iter().flatten());
    let gates = version
        .rules
        .gates
        .iter()
        .map(|gate| (gate.name.to_owned(), json!("gate")));
    rules.insert("gates".to_owned(), gates.collect());
    let mut replies = Map::from_iter([(
        Trainee::NAME.to_owned(),
        json!(shown(&version.shapes.trainee)),
    )]);
    for_each_nested!(add_nested(version, &mut replies));
    let mut shape = json!({
        "replies": replies,
        "requests": Map::from_iter(for_each_record!(inputs(version)).into_iter().flatten()),
        "codes": codes(version, lists),
        "exception_years": version.accepted_codes.funding_exception_years,
        "rules": rules,
        "nested_errors": version.nested_errors.name(),
        "words": { "training_partner": version.vocabulary.training_partner },
    });
    let wire = wire(version);
    if !wire.is_empty()
        && let Some(members) = shape.as_object_mut()
    {
        members.insert("wire".to_owned(), Value::Object(wire));
    }
    shape
}

/// Returns the forms of a version that differ from the common ones: words of lists, joined texts,
/// JSON types and defaults of inputs, the members around records, and the form of problems.
fn wire(version: &ApiVersion) -> Map<String, Value> {
    let words = version.wire.words.iter();
    let words = words.map(|(list, words)| {
        let words: Map<String, Value> = words
            .iter()
            .map(|(code, word)| ((*code).to_owned(), json!(word)))
            .collect();
        (list.name().to_owned(), Value::Object(words))
    });
    let mut forms: Map<String, Value> = words
        .chain(for_each_record!(joined(version)).concat())
        .chain(for_each_record!(formed(version)).concat())
        .collect();
    let json_types = Map::from_iter(for_each_record!(json_types(version)).concat());
    let defaults = Map::from_iter(for_each_record!(defaults(version)).concat());
    for (name, inputs) in [("json_types", json_types), ("defaults", defaults)] {
        if !inputs.is_empty() {
            forms.insert(name.to_owned(), Value::Object(inputs));
        }
    }
    for (filter, _) in version.inputs.filters {
        if let Some(form) = filter.form(version.inputs.filters) {
            let name = format!("filter.{}", filter.name());
            forms.insert(name, form.contract(&filter.form_field()));
        }
    }
    if version.wire.envelope != Envelope::COMMON {
        forms.insert("envelope".to_owned(), envelope(&version.wire.envelope));
    }
    let problems = &version.wire.problems;
    if !problems.is_common() {
        forms.insert("problems".to_owned(), json!(problems.name));
    }
    forms
}

/// Returns the contracts of the forms of fields, by name such as `trainee.name`.
fn formed<R: WireRecord>(version: &ApiVersion) -> Vec<(String, Value)> {
    let shown = R::shape(version)
        .into_iter()
        .flat_map(|shape| shape.entries);
    let shown = shown.filter_map(|entry| Some((entry.name, entry.form?, entry.form_field())));
    let sent = R::inputs(version).entries.iter();
    let sent = sent.filter_map(|input| Some((input.name, input.form?, input.field.info().into())));
    shown
        .chain(sent)
        .map(|(name, form, field)| (format!("{}.{name}", R::NAME), form.contract(&field)))
        .collect()
}

/// Returns the inputs that accept only one JSON type, with this type.
fn json_types<R: WireRecord>(version: &ApiVersion) -> Vec<(String, Value)> {
    let inputs = R::inputs(version).entries.iter();
    let typed = inputs.filter_map(|input| Some((input.name, input.accepts?)));
    let name = |accepts: JsonType| match accepts {
        JsonType::Integer => "integer",
        JsonType::Text => "text",
    };
    typed
        .map(|(input, accepts)| (format!("{}.{input}", R::NAME), json!(name(accepts))))
        .collect()
}

/// Returns the inputs with a default, with the default.
fn defaults<R: WireRecord>(version: &ApiVersion) -> Vec<(String, Value)> {
    let inputs = R::inputs(version).entries.iter();
    let defaults = inputs.filter_map(|input| Some((input.name, input.default?)));
    defaults
        .map(|(input, default)| (format!("{}.{input}", R::NAME), json!(default)))
        .collect()
}

/// Returns the keys around records, the members of a page in order, its sizes, and whether replies
/// have links to their record.
fn envelope(envelope: &Envelope) -> Value {
    let (page, members) = envelope.page;
    let members = members.iter().map(|(name, member)| {
        let content = match member {
            PageMember::Number => "number",
            PageMember::Pages => "pages",
            PageMember::Total => "total",
            PageMember::PerPage => "per_page",
            PageMember::Next => "next",
        };
        json!(format!("{name} {content}"))
    });
    json!({
        "list": envelope.list,
        "record": envelope.record,
        "request": envelope.request,
        "page": page,
        "members": members.collect::<Vec<_>>(),
        "page_size": [envelope.page_size.default(), envelope.page_size.max()],
        "record_links": envelope.record_links,
    })
}

/// Returns the fields that each text joins, with their positions and separators, by name such as
/// `trainee.name`.
fn joined<R: WireRecord>(version: &ApiVersion) -> Vec<(String, Value)> {
    let shown = R::shape(version)
        .into_iter()
        .flat_map(|shape| shape.entries);
    let shown = shown.filter_map(|entry| Some((entry.name, entry.part?, entry.field()?)));
    let sent = R::inputs(version)
        .entries
        .iter()
        .filter_map(|input| Some((input.name, input.part?, input.field)));
    let mut texts: Vec<(String, Value)> = Vec::new();
    for (name, part, field) in shown.chain(sent) {
        let text = format!("{}.{name}", R::NAME);
        let member = json!(format!(
            "{} {} {}",
            field.info().name,
            part.index,
            part.separator
        ));
        match texts.iter_mut().find(|(known, _)| *known == text) {
            // Replies and requests usually join the same fields.
            Some((_, Value::Array(members))) if members.contains(&member) => {}
            Some((_, Value::Array(members))) => members.push(member),
            Some(_) | None => texts.push((text, json!([member]))),
        }
    }
    texts
}

fn shown<R: Record>(shape: &Shape<R>) -> Vec<&'static str> {
    shape.entries.iter().map(|entry| entry.name).collect()
}

/// Adds the fields that the version shows of a nested record: as a separate response, and in the
/// trainee if they differ there.
fn add_nested<R: WireNested>(version: &ApiVersion, replies: &mut Map<String, Value>) {
    let shapes = R::shapes(version);
    if !shapes.is_empty() {
        replies.insert(R::NAME.to_owned(), json!(shown(&shapes.alone)));
    }
    if shapes.differ() {
        replies.insert(
            format!("{}_nested", R::NAME),
            json!(shown(&shapes.in_trainee)),
        );
    }
}

/// Returns the inputs of a record, with the name of the record; `None` if the version does not have
/// the record.
fn inputs<R: WireRecord>(version: &ApiVersion) -> Option<(String, Value)> {
    let entries = R::inputs(version).entries;
    let names = entries.iter().map(|input| input.name);
    (!entries.is_empty()).then(|| (R::NAME.to_owned(), names.collect()))
}

/// Returns the rules of a record, with their stages; `None` if the version does not have the
/// record. The stage tells whether removing the rule changes recorded values.
fn rules<R: WireRecord>(version: &ApiVersion) -> Option<(String, Value)> {
    let stages = R::rules(version)
        .iter()
        .map(|rule| (rule.name.to_owned(), json!(rule.stage().name())));
    (!R::inputs(version).entries.is_empty()).then(|| (R::NAME.to_owned(), stages.collect()))
}

/// Returns the accepted codes of all lists that inputs use.
fn codes(version: &ApiVersion, lists: &Lists) -> Map<String, Value> {
    fn record_lists<R: WireRecord>(version: &ApiVersion) -> Vec<List> {
        let has_record = !R::inputs(version).entries.is_empty();
        if !has_record {
            return Vec::new();
        }
        let infos = R::Field::ALL.iter().map(|field| field.info());
        infos
            .filter(|info| info.input)
            .filter_map(|info| match info.codes? {
                Codes::Listed(list) => Some(list),
                Codes::OneOf(_) => None,
            })
            .collect()
    }
    let input_lists = for_each_record!(record_lists(version)).concat();
    let mut codes = Map::new();
    for list in List::ALL.iter().filter(|list| input_lists.contains(list)) {
        let accepted: Vec<&str> = lists
            .codes(*list)
            .filter(|code| version.accepted_codes.accepts(*list, code))
            .collect();
        codes.insert(list.name().to_owned(), json!(accepted));
    }
    codes
}

#[cfg(test)]
mod tests {
    use adapter_kit::form::NUMBER;
    use adapter_kit::version::AllInputs;
    use adapter_kit::{Filter, PageSize, ProblemForm, Wire, inputs};
    use conformance::sample_version::SAMPLE_VERSION;
    use domain::{Deferral, DeferralField, Placement, PlacementField};

    use super::*;

    fn with_wire(wire: Wire) -> ApiVersion {
        ApiVersion {
            wire,
            ..SAMPLE_VERSION
        }
    }

    fn with_inputs(inputs: AllInputs) -> ApiVersion {
        ApiVersion {
            inputs,
            ..SAMPLE_VERSION
        }
    }

    #[test]
    fn each_form_of_a_value_is_in_the_document() {
        let common = Wire::COMMON;
        let inputs = SAMPLE_VERSION.inputs;
        let next_only = Envelope {
            page: ("page", &[("next", PageMember::Next)]),
            ..Envelope::COMMON
        };
        let with_keys_and_links = Envelope {
            list: "items",
            record: "item",
            request: "trainee",
            page_size: PageSize::new(25, 400),
            record_links: true,
            ..Envelope::COMMON
        };
        let cases = [
            (
                with_wire(Wire {
                    words: &[(List::Sex, &[("10", "female"), ("11", "male")])],
                    ..common
                }),
                json!({ "sex": { "10": "female", "11": "male" } }),
            ),
            (
                with_wire(Wire {
                    problems: ProblemForm::DETAILS,
                    ..common
                }),
                json!({ "problems": "ProblemDetails" }),
            ),
            (
                with_wire(Wire {
                    envelope: next_only,
                    ..common
                }),
                json!({ "envelope": {
                    "list": "data",
                    "record": "data",
                    "request": "data",
                    "page": "page",
                    "members": ["next next"],
                    "page_size": [50, 500],
                    "record_links": false,
                } }),
            ),
            (
                with_wire(Wire {
                    envelope: with_keys_and_links,
                    ..common
                }),
                json!({ "envelope": {
                    "list": "items",
                    "record": "item",
                    "request": "trainee",
                    "page": "meta",
                    "members": ["current_page number", "total_pages pages", "total_count total", "per_page per_page"],
                    "page_size": [25, 400],
                    "record_links": true,
                } }),
            ),
            (
                with_inputs(AllInputs {
                    placement: inputs! { Placement, PlacementField: urn as Integer, name, postcode as Text },
                    ..inputs
                }),
                json!({ "json_types": { "placement.urn": "integer", "placement.postcode": "text" } }),
            ),
            (
                with_inputs(AllInputs {
                    placement: inputs! { Placement, PlacementField: urn, name or "unknown", postcode },
                    ..inputs
                }),
                json!({ "defaults": { "placement.name": "unknown" } }),
            ),
            (
                with_inputs(AllInputs {
                    placement: inputs! { Placement, PlacementField: urn, address = name + ", " + postcode },
                    ..inputs
                }),
                json!({ "placement.address": ["name 0 , ", "postcode 1 , "] }),
            ),
            (
                with_inputs(AllInputs {
                    filters: &[(Filter::AcademicCycle, &NUMBER)],
                    ..inputs
                }),
                json!({ "filter.academic_cycle": {
                    "written": "as a number", "schema": { "type": "integer" }, "samples": [[2021, 2021]],
                } }),
            ),
        ];
        let lists = Lists::embedded();
        assert_eq!(describe(&SAMPLE_VERSION, lists).get("wire"), None);
        for (version, forms) in cases {
            assert_eq!(describe(&version, lists)["wire"], forms);
        }
    }

    #[test]
    fn group_changes_the_names_in_the_document() {
        let grouped = with_inputs(AllInputs {
            deferral: inputs! { Deferral, DeferralField: pause { on = defer_date, reason = defer_reason } },
            ..SAMPLE_VERSION.inputs
        });
        assert_eq!(
            describe(&grouped, Lists::embedded())["requests"]["deferral"],
            json!(["pause.on", "pause.reason"])
        );
    }
}
