//! Translates a body of one version into another, and says what that version would answer to it.
//!
//! Everything is computed from the two versions: the field of a key in the one, the name of that
//! field in the other, and the rules of the other that the body would break. Values stay as they
//! are. Nothing is looked up: a school or training partner with a well-formed number counts as
//! known.
//!
//! Works on JSON trees, outside the path of requests for records. Of a repeated key the last one
//! counts.

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::for_record_kind;
use adapter_kit::versions::Served;
use chrono::NaiveDate;
use domain::Lists;
use serde::Serialize;
use serde_json::{Map, Value};

mod cells;
mod evaluate;
mod findings;
mod guess;
mod names;
mod partial_update;

pub use findings::{Finding, Loss, LossReason, Rename, Translation};

use findings::join;
use names::{RecordPosition, translate_keys};

/// The kind of a body, as far as the caller knows it; the rest is guessed from its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BodyKind {
    /// Its record.
    pub record: Option<RecordKind>,
    /// Whether it is a request or a reply.
    pub direction: Option<Direction>,
    /// The purpose of a request. Transitions and replies have none.
    pub purpose: Option<Purpose>,
}

/// What a translation uses apart from the two versions.
#[derive(Debug, Clone, Copy)]
pub struct TranslationContext<'a> {
    /// The date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
}

/// Translates a body into another version.
///
/// The body is that of a request or of a reply, with or without `data` around it, or an array of
/// bodies. A reply can have a list in `data`, also one whose entries hold a record each: changes,
/// and results of a batch. Of the reply of an error, only the records are translated.
///
/// The problems are what the other version would answer to the translated body:
///
/// - to a request that creates a record or is a transition, all problems of its rules; the state of
///   the trainee is taken to allow the transition;
/// - to an update, the problems that the fields in the body have by themselves. What depends on
///   other fields is a notice: a problem that another field can prevent, and every rule of the
///   other version alone that reads a field in the body. Of a rule of both versions nothing is
///   reported when the missing field is all that is wrong;
/// - to a reply whose fields are sent back, the values that no request could have. The rules are
///   not run, because the record obeyed them when it was written.
#[must_use]
pub fn translate(
    body: &Value,
    from: &Served,
    to: &Served,
    kind: &BodyKind,
    context: TranslationContext<'_>,
) -> Translation {
    Translator::new(from, to, *kind, Some(context)).run(body)
}

/// Translates the names in a body, without what the other version would answer.
#[must_use]
pub fn translate_names(body: &Value, from: &Served, to: &Served, kind: &BodyKind) -> Translation {
    Translator::new(from, to, *kind, None).run(body)
}

/// Where the record is in an entry of the changes, and in a result of a batch. No record has such a
/// field.
const HOLDERS: [&str; 2] = ["trainee", "data"];

/// One translation.
struct Translator<'a> {
    from: &'a Served,
    to: &'a Served,
    kind: BodyKind,
    /// `None` when the answer of the other version is not requested.
    context: Option<TranslationContext<'a>>,
    /// Unknown names so far.
    unknown: usize,
    out: Translation,
}

impl<'a> Translator<'a> {
    fn new(
        from: &'a Served,
        to: &'a Served,
        kind: BodyKind,
        context: Option<TranslationContext<'a>>,
    ) -> Self {
        let out = Translation::new(from.version.label, to.version.label);
        Self {
            from,
            to,
            kind,
            context,
            unknown: 0,
            out,
        }
    }

    fn run(mut self, body: &Value) -> Translation {
        self.out.data = match body {
            Value::Array(bodies) => bodies
                .iter()
                .enumerate()
                .map(|(at, body)| self.body(body, &format!("[{at}]")))
                .collect(),
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => self.body(body, ""),
        };
        self.out
    }

    /// The body of one request or reply.
    fn body(&mut self, body: &Value, at: &str) -> Value {
        let Value::Object(object) = body else {
            self.evaluate(body, None, at);
            return body.clone();
        };
        let is_error = object.contains_key("errors") || object.contains_key("error");
        let data = match object.get("data") {
            None if is_error => return body.clone(),
            None => return self.record(object, None, at),
            Some(Value::Array(records)) => records
                .iter()
                .enumerate()
                .map(|(at_list, entry)| self.entry(entry, &format!("{at}[{at_list}]")))
                .collect(),
            Some(Value::Object(record)) => {
                self.record(record, is_error.then_some(Direction::Reply), at)
            }
            Some(data @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))) => {
                self.evaluate(data, None, at);
                data.clone()
            }
        };
        let mut whole = object.clone();
        whole.insert("data".to_owned(), data);
        Value::Object(whole)
    }

    /// An entry of a list in a reply: a record, or an object that holds one.
    fn entry(&mut self, entry: &Value, at: &str) -> Value {
        let Some(object) = entry.as_object() else {
            return entry.clone();
        };
        let Some(holder) = HOLDERS.into_iter().find(|name| object.contains_key(*name)) else {
            return self.record(object, Some(Direction::Reply), at);
        };
        let mut whole = object.clone();
        if let Some(record) = object.get(holder).and_then(Value::as_object) {
            whole.insert(
                holder.to_owned(),
                self.record(record, Some(Direction::Reply), &join(at, holder)),
            );
        }
        Value::Object(whole)
    }

    /// One record, and what would be answered to it. `usual` is its direction where the caller
    /// gives none.
    fn record(&mut self, record: &Map<String, Value>, usual: Option<Direction>, at: &str) -> Value {
        let given = BodyKind {
            direction: self.kind.direction.or(usual),
            ..self.kind
        };
        let (kind, direction) = guess::record(record, self.from, self.to, given);
        if self.out.body_kind.record.is_none() {
            self.out.body_kind = BodyKind {
                record: Some(kind),
                direction: Some(direction),
                purpose: None,
            };
        }
        let position = RecordPosition {
            direction,
            nested: false,
        };
        let translated = Value::Object(for_record_kind!(
            kind,
            translate_keys(self, record, position, at)
        ));
        self.evaluate(&translated, Some((kind, direction)), at);
        translated
    }

    /// Adds what would be answered to a record, if that is requested.
    fn evaluate(&mut self, record: &Value, kind: Option<(RecordKind, Direction)>, at: &str) {
        let Some(context) = self.context else { return };
        let default = (
            self.kind.record.unwrap_or(RecordKind::Trainee),
            Direction::Request,
        );
        let (kind, direction) = kind.unwrap_or(default);
        let (from, purpose) = (self.from.version, self.kind.purpose);
        let evaluation = for_record_kind!(
            kind,
            evaluate::evaluate(record, direction, purpose, from, self.to, context)
        );
        self.out.body_kind.purpose = self.out.body_kind.purpose.or(evaluation.purpose);
        self.out.add(evaluation.problems, evaluation.notices, at);
    }
}

#[cfg(test)]
mod tests;
