//! Wire forms of versions: words for codes, groups, types and defaults of inputs, the JSON members
//! around records, and the form of errors.

use adapter_kit::body_kind::Direction;
use adapter_kit::problems::{ErrorBody, ErrorEntry, Errors, Located, UNPROCESSABLE};
use adapter_kit::shape::{Entry, JsonType, Shape, group_of};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireRecord, for_each_record};
use adapter_kit::{Endpoint, Filter, PageMember, compose, identifiers, names, reference};
use domain::{Code, List, Lists, Trainee, TraineeField};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::examples::{at_path, cut, sent};
use super::{Change, ChangeDetail, Effect, Example};
use crate::documents::listed;
use crate::openapi::examples::{self, page_reply};

/// Maximum number of codes whose words a summary lists.
const WORDS_LISTED: usize = 32;

/// A change of a wire form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WireChange {
    /// The part that is written differently.
    pub part: WirePart,
    /// The list, field, group or member, in the names of the version that has it.
    pub subject: String,
}

/// The parts that versions can write differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WirePart {
    /// The codes of a list.
    Words,
    /// Fields in a group, which is an object.
    Group,
    /// The JSON types that an input accepts.
    InputType,
    /// The default of a field that is absent from a request for a new record.
    Default,
    /// The description of a page in a list.
    Page,
    /// The key of the record in a request body.
    RequestKey,
    /// The key of the record in a response with one record.
    RecordKey,
    /// The address of a record.
    RecordLinks,
    /// The form of errors.
    Problems,
    /// The identifiers in paths.
    Identifiers,
    /// The values of a filter of lists.
    Filter,
}

/// Returns the changes of wire forms.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Vec<Change> {
    let mut changes: Vec<Change> = List::ALL
        .iter()
        .filter_map(|list| words(*list, from, to, lists))
        .collect();
    changes.extend(for_each_record!(record_changes(from, to)).concat());
    changes.extend(page(from, to));
    changes.extend(request_key(from, to));
    changes.extend(record_key(from, to));
    changes.extend(record_links(from, to));
    changes.extend(problems(from, to));
    changes.extend(path_identifiers(from, to));
    changes.extend(
        Filter::ALL
            .into_iter()
            .filter_map(|one| filter(one, from, to)),
    );
    changes
}

/// Returns a change of a wire form. `subject` is the list, field, group or member for programs, and
/// `of` is the subject for readers.
fn change(
    effect: Effect,
    part: WirePart,
    subject: impl Into<String>,
    of: impl Into<String>,
    summary: String,
    advice: String,
) -> Change {
    let detail = ChangeDetail::Wire(WireChange {
        part,
        subject: subject.into(),
    });
    Change::new(effect, detail, of, summary, advice)
}

/// Returns the change of the words for the codes of a list.
fn words(list: List, from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Option<Change> {
    let written = |code| [from, to].map(|version| version.wire.written(list, code));
    let pairs: Vec<[&str; 2]> = lists
        .codes(list)
        .map(written)
        .filter(|[before, after]| before != after)
        .collect();
    let fields = reference::fields_of_list(to, list.name());
    // Without a changed word or a field with the list, there is no change.
    let [before, after] = *pairs.first()?;
    let field = *fields.first()?;
    let named: Vec<String> = pairs
        .iter()
        .take(WORDS_LISTED)
        .map(|[before, after]| format!("`{before}` becomes `{after}`"))
        .collect();
    let more = pairs.len().saturating_sub(WORDS_LISTED);
    let more = if more > 0 {
        format!("; for {more} more, see the list `{}`", list.name())
    } else {
        String::new()
    };
    let summary = format!(
        "In {}, {}{more}.",
        listed(fields.iter().copied()),
        named.join(", ")
    );
    let advice = format!(
        "Send and read the new values, such as `{after}` instead of `{before}`. The old values are refused."
    );
    let earlier = *reference::fields_of_list(from, list.name()).first()?;
    let change = change(
        Effect::Refused,
        WirePart::Words,
        list.name(),
        format!("list {}", list.name()),
        summary,
        advice,
    );
    let example = cut::<Trainee>(Direction::Request, (from, &[earlier]), (to, &[field]));
    Some(change.with_example(example))
}

fn record_changes<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let mut changes = Vec::new();
    let shapes = [from, to].map(|version| R::shape(version));
    if let [Some(before), Some(after)] = shapes {
        changes.extend(groups((from, before), (to, after)));
    }
    changes.extend(input_groups::<R>(from, to));
    changes.extend(input_types::<R>(from, to));
    changes.extend(defaults::<R>(from, to));
    changes
}

/// Returns the changes of groups in responses.
fn groups<R: WireRecord>(
    (from, before): (&ApiVersion, &Shape<R>),
    (to, after): (&ApiVersion, &Shape<R>),
) -> Vec<Change> {
    let mut changes = Vec::new();
    let groups_of =
        |shape: &Shape<R>| distinct_groups(shape.entries.iter().map(|entry| entry.name));
    for group in groups_of(after)
        .into_iter()
        .filter(|group| before.group(group).is_none())
    {
        let fields: Vec<&Entry<R>> = after
            .entries
            .iter()
            .filter(|entry| group_of(entry.name) == Some(group) && entry.is_first_part())
            .collect();
        let names: Vec<&str> = fields.iter().map(|entry| entry.name).collect();
        let earlier: Vec<&str> = fields
            .iter()
            .filter_map(|entry| before.name_of(entry.field()?))
            .collect();
        let summary = format!(
            "In responses, `{group}` is an object with {}. The object is null if none of its fields has a value.",
            listed(names.iter().map(|name| last_name(name)))
        );
        let advice = format!("Read these fields from `{group}`.");
        let change = change(
            Effect::ReadDifferently,
            WirePart::Group,
            group,
            R::NAME,
            summary,
            advice,
        );
        let example = cut::<R>(Direction::Reply, (from, &earlier), (to, &names));
        changes.push(change.with_example(example));
    }
    for group in groups_of(before)
        .into_iter()
        .filter(|group| after.group(group).is_none())
    {
        let summary = format!("Responses no longer have the object `{group}`.");
        let advice = format!("Read the fields of `{group}` directly from the record.");
        changes.push(change(
            Effect::ReadDifferently,
            WirePart::Group,
            group,
            R::NAME,
            summary,
            advice,
        ));
    }
    changes
}

/// Returns the distinct groups in the paths of fields, in order. The fields of a group must be
/// adjacent.
fn distinct_groups(paths: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut groups: Vec<_> = paths.filter_map(group_of).collect();
    groups.dedup();
    groups
}

/// Returns the changes that add groups to requests. Removed groups are omitted, because the changes
/// of their fields describe them.
fn input_groups<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let before = R::inputs(from);
    let after = R::inputs(to);
    let mut changes = Vec::new();
    let groups = distinct_groups(after.entries.iter().map(|input| input.name));
    for group in groups.into_iter().filter(|group| !before.is_group(group)) {
        let names: Vec<&str> = after
            .in_group(group)
            .filter(|input| input.is_first_part())
            .map(|input| input.name)
            .collect();
        let earlier: Vec<&str> = after
            .in_group(group)
            .filter_map(|input| before.name_of(input.field))
            .collect();
        let summary = format!(
            "In requests, `{group}` is an object with {}.",
            listed(names.iter().map(|name| last_name(name)))
        );
        let advice = format!(
            "Send these fields in `{group}`. An update keeps fields that the object omits. To clear all of its \
             fields, send null instead of the object."
        );
        let change = change(
            Effect::Refused,
            WirePart::Group,
            group,
            R::NAME,
            summary,
            advice,
        );
        let example = cut::<R>(Direction::Request, (from, &earlier), (to, &names));
        changes.push(change.with_example(example));
    }
    changes
}

/// Returns the last name in the path of a field.
fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Returns a phrase for the JSON types that an input accepts. Without a restriction, these are text
/// and whole numbers.
const fn type_name(accepts: Option<JsonType>) -> &'static str {
    match accepts {
        Some(JsonType::Integer) => "a whole number",
        Some(JsonType::Text) => "text",
        None => "text or a whole number",
    }
}

/// Returns a change for each input that accepts other JSON types in `to`.
fn input_types<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let mut changes = Vec::new();
    for after in R::inputs(to).entries {
        let Some(before) = R::inputs(from).find_by_field(after.field) else {
            continue;
        };
        // A change of the form describes the types.
        let has_form = before.form.is_some() || after.form.is_some();
        if before.accepts == after.accepts || has_form {
            continue;
        }
        let name = after.name;
        let summary = format!(
            "In requests, `{name}` is {} instead of {}.",
            type_name(after.accepts),
            type_name(before.accepts)
        );
        let (effect, advice) = match after.accepts {
            Some(accepted) => (
                Effect::Refused,
                format!(
                    "Send `{name}` as {}. Other types are refused.",
                    type_name(Some(accepted))
                ),
            ),
            None => (
                Effect::NewlyPossible,
                format!("You can send `{name}` as either type."),
            ),
        };
        let change = change(effect, WirePart::InputType, name, R::NAME, summary, advice);
        changes.push(change.with_example(type_example::<R>(from, before.name, to, name)));
    }
    changes
}

/// Returns the example value of an input in `to`, and before it the same value in its other JSON
/// type.
fn type_example<R: WireRecord>(
    from: &ApiVersion,
    before: &str,
    to: &ApiVersion,
    after: &str,
) -> Option<Example> {
    let other_type = |value: &Value| match value {
        Value::String(text) => Some(Value::from(text.parse::<i64>().ok()?)),
        Value::Number(number) => Some(Value::from(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let value = sent::<R>(to, after)?;
    let was = sent::<R>(from, before).filter(|was| *was != value);
    let was = was.or_else(|| other_type(&value))?;
    Some(Example::new(&at_path(before, was), &at_path(after, value)))
}

/// Returns a change for each input that has another default in `to`.
fn defaults<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let mut changes = Vec::new();
    for after in R::inputs(to).entries {
        let Some(before) = R::inputs(from).find_by_field(after.field) else {
            continue;
        };
        if before.default == after.default {
            continue;
        }
        let name = after.name;
        let written = |default: Option<&'static str>| {
            let value = compose::written::<R>(to, after, domain::Value::text(default?))?;
            Some(value.as_str().map_or(value.to_string(), str::to_owned))
        };
        let (summary, advice) = match (written(before.default), written(after.default)) {
            (_, Some(value)) => (
                format!("If a new record omits `{name}`, its value is `{value}`."),
                format!(
                    "To create a record without this value, send null in `{name}` if the rules allow it."
                ),
            ),
            (before, None) => (
                format!("If a new record omits `{name}`, the field has no value."),
                format!(
                    "If you relied on the default, send `{}` in `{name}`.",
                    before.unwrap_or_default()
                ),
            ),
        };
        let change = change(
            Effect::RecordedDifferently,
            WirePart::Default,
            name,
            R::NAME,
            summary,
            advice,
        );
        changes.push(change);
    }
    changes
}

/// Returns the change of the page details in lists of trainees; `None` if both versions have the
/// same details.
fn page(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, members_before) = from.wire.envelope.page;
    let (after, members) = to.wire.envelope.page;
    let sentences_about_lists = lists(from, to);
    if (before, members_before) == (after, members) && sentences_about_lists.is_empty() {
        return None;
    }
    let name_of = |members: &'static [(&'static str, PageMember)], member: PageMember| {
        members
            .iter()
            .find(|(_, known)| *known == member)
            .map(|(name, _)| *name)
    };
    let mut sentences = sentences_about_lists;
    if before != after {
        sentences.push(format!(
            "Trainee lists have page details {} instead of {}.",
            place(after),
            place(before)
        ));
    }
    for (name, member) in members_before {
        match name_of(members, *member) {
            Some(now) if now != *name => sentences.push(format!("`{name}` is renamed to `{now}`.")),
            Some(_) => {}
            None => sentences.push(format!("`{name}` is removed.")),
        }
    }
    for (name, member) in members {
        if name_of(members_before, *member).is_none() {
            sentences.push(format!("`{name}` is new: {}", meaning(*member)));
        }
    }
    let list = to.wire.envelope.list;
    let advice = format!(
        "Read the records from `{list}`, and the page details {}.",
        place(after)
    );
    let name = if after.is_empty() { list } else { after };
    let change = change(
        Effect::ReadDifferently,
        WirePart::Page,
        name,
        "lists of trainees",
        sentences.join(" "),
        advice,
    );
    Some(change.with_example(Some(Example::new(&sample_page(from), &sample_page(to)))))
}

/// Returns the place of page details for a sentence.
fn place(name: &str) -> String {
    if name.is_empty() {
        "next to the list".to_owned()
    } else {
        format!("in `{name}`")
    }
}

/// Returns sentences about the key of lists and the sizes of pages, where they differ.
fn lists(from: &ApiVersion, to: &ApiVersion) -> Vec<String> {
    let (before, after) = (&from.wire.envelope, &to.wire.envelope);
    let mut sentences = Vec::new();
    if before.list != after.list {
        sentences.push(format!(
            "Lists of records are in `{}` instead of `{}`.",
            after.list, before.list
        ));
    }
    if before.page_size != after.page_size {
        sentences.push(format!(
            "A page has {} trainees by default, and at most {}; before {} and {}.",
            after.page_size.default(),
            after.page_size.max(),
            before.page_size.default(),
            before.page_size.max()
        ));
    }
    sentences
}

/// Returns an example of a list with the page details of a version.
fn sample_page(version: &ApiVersion) -> Value {
    let (_, members) = version.wire.envelope.page;
    let values: Map<String, Value> = members
        .iter()
        .map(|(name, member)| ((*name).to_owned(), sample(*member, version)))
        .collect();
    page_reply(version, json!(["..."]), values)
}

const fn meaning(member: PageMember) -> &'static str {
    match member {
        PageMember::Number => "the page number, from 1.",
        PageMember::Pages => "the number of pages.",
        PageMember::Total => "the total number of records.",
        PageMember::PerPage => "the maximum number of records on a page.",
        PageMember::Next => {
            "the path and query of the next page, with a cursor; null on the last page."
        }
    }
}

/// Returns a sample value of a page detail.
fn sample(member: PageMember, version: &ApiVersion) -> Value {
    match member {
        PageMember::Number => json!(1),
        PageMember::Pages => json!(3),
        PageMember::Total => json!(120),
        PageMember::PerPage => json!(version.wire.envelope.page_size.default()),
        PageMember::Next => json!(format!("{}/trainees?cursor=...", version.label.base_path())),
    }
}

/// Returns the change of the key of the record in request bodies; `None` if both versions have the
/// same key.
fn request_key(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (from.wire.envelope.request, to.wire.envelope.request);
    let summary = format!(
        "In request bodies, and in the items of a batch, the record is in `{after}` instead of `{before}`."
    );
    let advice = format!("Send the record in `{after}`. A request without it is refused.");
    key(
        Effect::Refused,
        WirePart::RequestKey,
        [before, after],
        summary,
        advice,
    )
}

/// Returns the change of the key in responses with one record; `None` if both versions have the
/// same key.
fn record_key(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (from.wire.envelope.record, to.wire.envelope.record);
    let summary = format!(
        "In a response with one record, and in the results of a batch, the record is in `{after}` instead of `{before}`."
    );
    let advice = format!("Read the record from `{after}`.");
    key(
        Effect::ReadDifferently,
        WirePart::RecordKey,
        [before, after],
        summary,
        advice,
    )
}

/// Returns the change of a key around a record; `None` if the keys are the same.
fn key(
    effect: Effect,
    part: WirePart,
    [before, after]: [&str; 2],
    summary: String,
    advice: String,
) -> Option<Change> {
    if before == after {
        return None;
    }
    let change = change(effect, part, after, "records", summary, advice);
    let example = Example::new(&json!({ before: {} }), &json!({ after: {} }));
    Some(change.with_example(Some(example)))
}

/// Returns the change of the record's address in responses with one record; `None` if both versions
/// show it or neither does.
fn record_links(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let before = from.wire.envelope.record_links;
    let after = to.wire.envelope.record_links;
    if before == after {
        return None;
    }
    let (effect, summary, advice) = if after {
        (
            Effect::NewlyPossible,
            format!(
                "A response with one record has the record's address in `links.self`, next to `{}`.",
                to.wire.envelope.record
            ),
            "You can use this address to request the record.",
        )
    } else {
        (
            Effect::ReadDifferently,
            "A response with one record no longer has the record's address.".to_owned(),
            "Build the address from the record's identifier.",
        )
    };
    let change = change(
        effect,
        WirePart::RecordLinks,
        "links",
        "records",
        summary,
        advice.to_owned(),
    );
    let key = to.wire.envelope.record;
    let without = json!({ key: {} });
    let with = json!({ key: {}, "links": { "self": "/api/.../trainees/..." } });
    let [before, after] = if after {
        [without, with]
    } else {
        [with, without]
    };
    Some(change.with_example(Some(Example::new(&before, &after))))
}

/// Returns the change of the form of errors.
fn problems(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let after = to.wire.problems;
    if from.wire.problems == after {
        return None;
    }
    let change = change(
        Effect::ReadDifferently,
        WirePart::Problems,
        "errors",
        "errors",
        after.summary.to_owned(),
        after.advice.to_owned(),
    );
    let example = Example::new(&sample_error(from), &sample_error(to));
    Some(change.with_example(Some(example)))
}

/// Returns the reply of a version to a request without an email address.
fn sample_error(version: &ApiVersion) -> Value {
    let name = names::field(version, TraineeField::email.into());
    let body = ErrorBody::List(Errors {
        errors: vec![ErrorEntry {
            error: UNPROCESSABLE,
            message: format!("{name} cannot be blank"),
            located: Some(Located {
                code: Code::Blank.name(),
                field: name.to_owned(),
            }),
        }],
    });
    serde_json::from_slice(&version.wire.write_error(&body, 422)).unwrap_or_default()
}

/// Returns the change of the identifiers in paths.
fn path_identifiers(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let ids = examples::identifiers();
    let changed: Vec<&str> = ids
        .iter()
        .filter(|(name, id)| identifiers::write(from, name, id) != identifiers::write(to, name, id))
        .map(|(name, _)| *name)
        .collect();
    // The path of a nested record has all identifiers.
    let last = *changed.last()?;
    let sentence = |name: &&str| {
        let (is, version) = match identifiers::form(to, name) {
            Some(_) => ("is", to),
            None => ("is no longer", from),
        };
        let (form, _) = identifiers::form(version, name)?;
        Some(format!(
            "In paths, `{name}` {is} written {}.",
            form.form.says()
        ))
    };
    let sentences: Vec<String> = changed.iter().filter_map(sentence).collect();
    let change = change(
        Effect::Refused,
        WirePart::Identifiers,
        last,
        "paths",
        sentences.join(" "),
        "Send identifiers as replies show them. For other texts, the reply is a 404.".to_owned(),
    );
    let has_last = |endpoint: &Endpoint| endpoint.path().contains(&format!("{{{last}}}"));
    let example = to.endpoints.all().find(has_last).map(|endpoint| {
        let [before, after] = [from, to].map(|version| {
            let path = version.row(endpoint).path;
            json!(version.label.base_path() + &identifiers::fill(version, path, &ids))
        });
        Example::new(&before, &after)
    });
    Some(change.with_example(example))
}

/// Returns the change of the form of a filter.
fn filter(filter: Filter, from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let name = filter.name();
    let [before, after] = [from, to].map(|version| filter.form(version.inputs.filters));
    let form = after.or(before)?;
    let field = filter.form_field();
    let canonical = form.form.samples(&field).into_iter().next()?.canonical;
    let [old, new] = [from, to].map(|version| {
        let value = filter.write(version.inputs.filters, &canonical);
        format!("{name}={value}")
    });
    if old == new {
        return None;
    }
    let is = if after.is_some() {
        "is"
    } else {
        "is no longer"
    };
    let change = change(
        Effect::Refused,
        WirePart::Filter,
        name,
        "lists of trainees",
        format!("The filter `{name}` {is} written {}.", form.form.says()),
        format!("Send `{new}` instead of `{old}`. The old values are refused."),
    );
    Some(change.with_example(Some(Example::new(&json!(old), &json!(new)))))
}
