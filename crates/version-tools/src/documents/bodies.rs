//! Bodies in the code of documents, such as those of commands.
//!
//! In a body, `...` stands for members or items that the document leaves out.

use adapter_kit::Endpoint;
use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::problems::{ErrorBody, ErrorEntry, Errors, ParameterErrors};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use adapter_kit::wire_form::DATA;
use chrono::NaiveDate;
use domain::Lists;
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::openapi::examples;
use crate::translate::{BodyKind, Translation, TranslationContext, translate};

/// Stands for `...` in a parsed body.
const OMITTED: &str = "\u{2026}";
/// The texts with `...` in a body, and what replaces them. A list ends with `...`.
const OMISSIONS: [(&str, &str); 4] = [
    ("...]", "\"\u{2026}\"]"),
    ("{...}", "{\"\u{2026}\":\"\u{2026}\"}"),
    (", ...", ",\"\u{2026}\":\"\u{2026}\""),
    (": ...", ":\"\u{2026}\""),
];
/// The most characters of a body on one line.
const MAX_COLUMNS: usize = 100;
/// The day of the requests in documents. Their dates are valid on it.
const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
/// The errors without a path in documents, with their statuses.
const ERRORS: [(&str, u16); 2] = [("NotFound", 404), ("Conflict", 409)];

/// A translation of bodies from the written documents to a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyForms<'a> {
    /// The version in the written documents.
    pub(super) canonical: &'a Served,
    pub(super) own: &'a Served,
    pub(super) lists: &'a Lists,
}

/// Rewrites code: bodies are translated, and `words` rewrites everything else. Errors are those of
/// the canonical `request`, if given.
pub(super) fn rewrite(
    forms: BodyForms<'_>,
    code: &str,
    request: Option<&str>,
    words: &dyn Fn(&str) -> String,
) -> String {
    // A member of an object, such as `"sex": "10"`.
    if code.starts_with('"')
        && let Some((member, _)) = parse(&format!("{{{code}}}"))
    {
        let own = translate_body(forms, &member, request);
        if own == member {
            return code.to_owned();
        }
        let text = write(&own);
        let inner = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'));
        return inner.unwrap_or(&text).trim().to_owned();
    }
    let mut written = String::with_capacity(code.len());
    let mut between = String::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let (found, length) = parse(rest).unwrap_or((Value::Null, first.len_utf8()));
        let (text, after) = rest.split_at(length);
        rest = after;
        if found.is_null() {
            between.push(first);
            continue;
        }
        written += &words(&std::mem::take(&mut between));
        let own = translate_body(forms, &found, request);
        written += &if own == found {
            text.to_owned()
        } else {
            write(&own)
        };
    }
    written + &words(&between)
}

/// Returns the body of a version for a canonical body.
fn translate_body(forms: BodyForms<'_>, canonical: &Value, request: Option<&str>) -> Value {
    if let Some(own) = write_error(forms, canonical, request) {
        return own;
    }
    let version = forms.own.version;
    let translation = translate_value(forms, canonical, &BodyKind::default());
    let mut own = translation.data;
    let BodyKind {
        record,
        direction,
        purpose,
    } = translation.body_kind;
    if purpose == Some(Purpose::Create) {
        for problem in &translation.problems {
            add_required(version, &mut own, problem);
        }
    }
    if direction == Some(Direction::Reply)
        && let Some(record) = record.zip(canonical.get(DATA).filter(|data| data.is_object()))
        && let Some(members) = own.as_object_mut()
    {
        members.extend(write_address(version, record));
    }
    own
}

/// Adds a field that the version requires, but not the canonical version, with the value of the
/// version's example.
fn add_required(version: &ApiVersion, body: &mut Value, problem: &ErrorEntry) -> Option<()> {
    let path = &problem.located.as_ref()?.field;
    let (body, name) = match path
        .strip_prefix('[')
        .and_then(|path| path.split_once("]."))
    {
        Some((index, name)) => (body.get_mut(index.parse::<usize>().ok()?)?, name),
        None => (body, path.as_str()),
    };
    let mut example = examples::request(version, Endpoint::CreateTrainee)?;
    let key = version.wire.envelope.request;
    let value = example.get_mut(key)?.get_mut(name)?.take();
    body.get_mut(key)?
        .as_object_mut()?
        .insert(name.to_owned(), value);
    Some(())
}

/// Returns the member with the address of a record; `None` if the version does not show it.
fn write_address(
    version: &ApiVersion,
    (kind, record): (RecordKind, &Value),
) -> Option<(String, Value)> {
    let shows = version
        .endpoints
        .that_shows(kind)
        .unwrap_or(Endpoint::ShowTrainee);
    let names = shows.path().split(['{', '}']).skip(1).step_by(2);
    let id = |name| record.get(name).and_then(Value::as_str).unwrap_or(OMITTED);
    let ids: Vec<_> = names.map(|name| (name, id(name).to_owned())).collect();
    examples::address(version, shows, &ids)
}

/// Returns the body of an error as the version writes it; `None` for other bodies.
fn write_error(forms: BodyForms<'_>, canonical: &Value, request: Option<&str>) -> Option<Value> {
    let text = |of: &Value| Some(of.get("message")?.as_str()?.to_owned());
    let (body, status) = match (canonical.get("errors"), request) {
        (None, _) => {
            canonical.get("error")?;
            (ErrorBody::Unauthorized, 401)
        }
        (Some(_), Some(request)) => {
            let kind = BodyKind {
                record: Some(RecordKind::Trainee),
                direction: Some(Direction::Request),
                purpose: Some(Purpose::Update),
            };
            let request = serde_json::from_str(request).ok()?;
            let errors = translate_value(forms, &request, &kind).problems;
            (ErrorBody::List(Errors { errors }), 422)
        }
        (Some(Value::Array(entries)), None) => {
            let entry = entries.first()?;
            let name = entry.get("error")?;
            let (name, status) = ERRORS.into_iter().find(|(known, _)| name == known)?;
            let errors = Errors::one(name, text(entry)?);
            let body = match canonical.get(DATA) {
                Some(existing) => {
                    let own = translate_value(forms, existing, &BodyKind::default()).data;
                    ErrorBody::Conflict(errors, to_raw_value(&own).ok()?)
                }
                None => ErrorBody::List(errors),
            };
            (body, status)
        }
        (Some(errors), None) => {
            let message = text(canonical)?;
            let errors = serde_json::from_value(errors.clone()).ok()?;
            (
                ErrorBody::Parameters(ParameterErrors { message, errors }),
                422,
            )
        }
    };
    let json = forms.own.version.wire.write_error(&body, status);
    serde_json::from_slice(&json).ok()
}

/// Translates a value. `kind` says which body it is, as far as that is known.
fn translate_value(forms: BodyForms<'_>, value: &Value, kind: &BodyKind) -> Translation {
    let context = TranslationContext {
        today: TODAY,
        lists: forms.lists,
        choices: &[],
    };
    let body = value.clone().into();
    translate(&body, forms.canonical, forms.own, kind, context)
}

/// Parses the body at the beginning of a text: an object or a list of objects. Returns the body and
/// its length; `None` if the text begins with something else.
fn parse(text: &str) -> Option<(Value, usize)> {
    let items = text.strip_prefix('[').map_or(text, str::trim_start);
    let first = items.strip_prefix('{')?.trim_start();
    if !first.starts_with(['"', '.']) {
        return None;
    }
    let mut ends = text.match_indices(['}', ']']);
    ends.find_map(|(end, _)| {
        let json = text.get(..=end)?.to_owned();
        let replace = |json: String, (from, to): (&str, &str)| json.replace(from, to);
        let json = OMISSIONS.into_iter().fold(json, replace);
        Some((serde_json::from_str(&json).ok()?, end + 1))
    })
}

/// Writes a body, with `...` for what the document leaves out.
fn write(body: &Value) -> String {
    let mut json = body.to_string();
    if json.len() > MAX_COLUMNS {
        json = serde_json::to_string_pretty(body).unwrap_or(json);
    }
    let member = format!("\"{OMITTED}\": \"{OMITTED}\"");
    let json = json
        .replace(&member, "...")
        .replace(&member.replace(' ', ""), "...");
    json.replace(&format!("\"{OMITTED}\""), "...")
        .replace(OMITTED, "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omissions_of_bodies_stay_omitted() {
        for text in [
            r#"{"data":{...}}"#,
            r#"{"data":[...],"meta":{"after":"hR4z...",...}}"#,
            r#"[{"data":{"name":...,"of":[{"urn":"1"},...]}}]"#,
        ] {
            let spaced = text.replace(',', ", ").replace(':', ": ");
            let (body, length) = parse(&format!("{spaced}' | jq .")).unwrap();
            assert_eq!((length, write(&body).as_str()), (spaced.len(), text));
        }
    }

    #[test]
    fn braces_that_are_no_body_are_left_alone() {
        for text in [
            "{trainee_id}/defer",
            "{ print $2 }",
            "[1].subject",
            "[{ids: .a}]",
        ] {
            assert_eq!(parse(text), None);
        }
    }
}
