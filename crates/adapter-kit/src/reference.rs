//! The code lists as JSON, for the endpoint `reference-data`.

use domain::fields::field::Codes;
use domain::fields::vocabulary::{FUTURE_INTERESTS, WITHDRAWAL_TRIGGERS};
use domain::lists::{Entry, WithdrawalReason};
use domain::values::academic_year;
use domain::{DegreeField, Field, List, Lists, WithdrawalField};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use crate::version::{ApiVersion, capitalised};
use crate::wire::{WireRecord, for_each_record};
use crate::wire_form::Wire;

/// The name of the list of withdrawal reasons. The list has a separate form.
const WITHDRAWAL_REASONS: &str = "withdrawal_reasons";
/// The name of the list of available funding. Only a rule reads the list; no field has its codes.
pub const FUNDING_RULES: &str = "funding_rules";

/// All lists, by name, in the form of a version.
#[derive(Debug)]
pub struct AllLists<'a>(pub &'a Lists, pub &'a Wire);

/// One list in the form of a version.
#[derive(Debug)]
pub struct OneList<'a> {
    kind: ListKind<'a>,
    lists: &'a Lists,
    wire: &'a Wire,
}

#[derive(Debug)]
enum ListKind<'a> {
    /// A list of codes.
    Codes(List),
    /// The reasons of a withdrawal, by trigger.
    WithdrawalReasons(&'a [WithdrawalReason]),
    /// The available funding, by academic year, training route and funding subject.
    FundingRules,
}

impl<'a> OneList<'a> {
    /// Returns the list with the name, or `None` if there is no such list.
    #[must_use]
    pub fn find(name: &str, lists: &'a Lists, wire: &'a Wire) -> Option<Self> {
        let kind = if name == WITHDRAWAL_REASONS {
            ListKind::WithdrawalReasons(lists.withdrawal_reasons())
        } else if name == FUNDING_RULES {
            ListKind::FundingRules
        } else {
            ListKind::Codes(List::ALL.iter().copied().find(|list| list.name() == name)?)
        };
        Some(Self { kind, lists, wire })
    }
}

/// Returns the names of all lists.
pub fn names() -> impl Iterator<Item = &'static str> {
    List::ALL
        .iter()
        .map(|list| list.name())
        .chain([WITHDRAWAL_REASONS, FUNDING_RULES])
}

/// Returns the name of the list with the codes of a field, or `None` if the field has no list.
#[must_use]
pub fn list_of(field: Field) -> Option<&'static str> {
    // The definitions of these fields have no list, because rules check their values.
    if field == DegreeField::country.to_field() {
        return Some(List::Country.name());
    }
    if field == DegreeField::institution.to_field() {
        return Some(List::Institution.name());
    }
    if [
        WithdrawalField::trigger.to_field(),
        WithdrawalField::future_interest.to_field(),
        WithdrawalField::reasons.to_field(),
    ]
    .contains(&field)
    {
        return Some(WITHDRAWAL_REASONS);
    }
    match field.info().codes {
        Some(Codes::Listed(list)) => Some(list.name()),
        Some(Codes::OneOf(_)) | None => None,
    }
}

/// Resolves the name of a list in a request, or returns `None` for an unknown name. The name is
/// that of a list or of a field in requests of the version; a field can be a path such as
/// `degrees_attributes[0].subject`.
#[must_use]
pub fn list_named(version: &ApiVersion, name: &str) -> Option<&'static str> {
    // The part after the index of a nested record, such as `subject`. It can have a group.
    let path_in_item = name.rsplit("].").next().unwrap_or(name);
    let last_name = name.rsplit('.').next().unwrap_or(name);
    if let Some(list) = names().find(|list| *list == last_name) {
        return Some(list);
    }
    let fields = fields_with_codes(version);
    [path_in_item, last_name].into_iter().find_map(|name| {
        let (_, list) = fields.iter().find(|(field, _)| *field == name)?;
        Some(*list)
    })
}

/// Returns all names that [`list_named`] resolves for the version: the names of lists, then the
/// names of fields.
#[must_use]
pub fn names_in(version: &ApiVersion) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = names().collect();
    for (field, _) in fields_with_codes(version) {
        if !names.contains(&field) {
            names.push(field);
        }
    }
    names
}

/// Returns the names of the fields in requests of a version that have codes of the list, each once.
#[must_use]
pub fn fields_of_list(version: &ApiVersion, list: &str) -> Vec<&'static str> {
    let mut fields = Vec::new();
    for (field, list_of_field) in fields_with_codes(version) {
        if list_of_field == list && !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// Returns the fields with codes in requests of a version, and the name of the list of each.
fn fields_with_codes(version: &ApiVersion) -> Vec<(&'static str, &'static str)> {
    fn record_fields<R: WireRecord>(version: &ApiVersion) -> Vec<(&'static str, &'static str)> {
        let inputs = R::inputs(version).entries.iter();
        inputs
            .filter_map(|input| Some((input.name, list_of(input.field.into())?)))
            .collect()
    }
    for_each_record!(record_fields(version)).concat()
}

impl Serialize for AllLists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for name in names() {
            object.serialize_entry(name, &OneList::find(name, self.0, self.1))?;
        }
        object.end()
    }
}

impl Serialize for OneList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, lists, wire } = self;
        let list = match kind {
            ListKind::Codes(list) => json!({
                "metadata": {
                    "name": list.name(),
                    "display_name": display_name(list.name()),
                    "description": list.meaning(),
                },
                "entries": lists.entries(*list).iter().map(|entry| code(*list, entry, lists, wire)).collect::<Vec<_>>(),
            }),
            ListKind::FundingRules => json!({
                "metadata": {
                    "name": FUNDING_RULES,
                    "display_name": display_name(FUNDING_RULES),
                    "description": "Which funding exists, by academic year, training route and funding subject.",
                },
                "entries": funding_rules(lists, wire),
            }),
            ListKind::WithdrawalReasons(reasons) => {
                let sorted = WITHDRAWAL_TRIGGERS
                    .iter()
                    .flat_map(|trigger| reasons.iter().filter(move |one| one.trigger == **trigger));
                json!({
                    "metadata": { "name": WITHDRAWAL_REASONS, "display_name": display_name(WITHDRAWAL_REASONS) },
                    "triggers": WITHDRAWAL_TRIGGERS,
                    "future_interest": FUTURE_INTERESTS,
                    "entries": sorted.map(withdrawal_reason).collect::<Vec<_>>(),
                })
            }
        };
        list.serialize(serializer)
    }
}

fn withdrawal_reason(reason: &WithdrawalReason) -> Value {
    json!({
        "code": reason.code,
        "display_name": reason.name,
        "trigger": reason.trigger,
        "requires_another_reason": reason.requires_another_reason,
        "requires_safeguarding_concern_reasons": reason.requires_safeguarding_concern_reasons,
    })
}

/// Returns the entry of a code as JSON: the code, its name, its years and its facts about funding.
fn code(list: List, entry: &Entry, lists: &Lists, wire: &Wire) -> Value {
    let mut code = json!({
        "code": wire.written(list, &entry.code),
        "display_name": entry.name,
        "start_year": entry.start_year,
        "end_year": entry.end_year,
    });
    let Some(members) = code.as_object_mut() else {
        return code;
    };
    if list == List::CourseSubject {
        members.insert(
            "funding_subjects".to_owned(),
            json!(lists.funding_subjects(&entry.code)),
        );
    }
    if let Some(method) = lists
        .funding_method(&entry.code)
        .filter(|_| list == List::FundingMethod)
    {
        members.insert("funding_type".to_owned(), json!(method.funding_type));
        members.insert("bursary_tier".to_owned(), json!(method.bursary_tier));
    }
    code
}

/// Returns the funding rules in the form of codes. The code of a rule consists of all its values.
fn funding_rules(lists: &Lists, wire: &Wire) -> Vec<Value> {
    let mut rules: Vec<_> = lists.funding().collect();
    rules.sort_unstable();
    let rule = |(year, funding_type, route, subject): (i32, &str, &str, &str)| {
        let route_name = lists
            .entry(List::TrainingRoute, route)
            .map_or(route, |route| route.name.as_str());
        json!({
            "code": format!("{year}-{funding_type}-{route}-{}", subject.to_lowercase().replace(' ', "-")),
            "display_name": format!("{} for {subject} on {route_name}, {}", capitalised(funding_type), academic_year::label(year)),
            "start_year": year,
            "end_year": year,
            "funding_type": funding_type,
            "training_route": wire.written(List::TrainingRoute, route),
            "funding_subject": subject,
        })
    };
    rules.into_iter().map(rule).collect()
}

fn display_name(name: &str) -> String {
    capitalised(&name.replace('_', " "))
}
