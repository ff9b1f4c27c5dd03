//! Translates a body of one version into another, and evaluates the result with that version's
//! rules.
//!
//! The translation maps each key to its field and then to the name of that field in the other
//! version. Values are unchanged. The evaluation reports rules of the other version that the body
//! breaks. It uses no stored data: a school or training partner with a well-formed number counts as
//! known.
//!
//! This module works on JSON trees, outside the path of requests for records. A repeated key is a
//! problem, and its first value is translated.

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::problems::Errors;
use adapter_kit::read::{IDEMPOTENCY_KEY, JsonTree};
use adapter_kit::versions::Served;
use adapter_kit::wire_form::DATA;
use adapter_kit::{Envelope, PageMember, for_record_kind, identifiers};
use chrono::NaiveDate;
use domain::{Lists, Path, Problem, ProblemKind};
use serde::Serialize;
use serde_json::{Map, Value};

mod cells;
mod evaluate;
mod findings;
mod guess;
mod names;
mod partial_update;

pub use findings::{Finding, Loss, LossReason, Rename, Translation};

use evaluate::EvaluatedRecord;
use findings::join;
use names::{RecordPosition, translate_keys};

/// The kind of a body, as far as the caller knows it. The rest is guessed from the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BodyKind {
    /// The kind of record.
    pub record: Option<RecordKind>,
    /// Request or reply.
    pub direction: Option<Direction>,
    /// The purpose of a request. Transitions and replies have none.
    pub purpose: Option<Purpose>,
}

/// Data for the evaluation of a translation.
#[derive(Debug, Clone, Copy)]
pub struct TranslationContext<'a> {
    /// The date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
    /// The codes that replace ended codes.
    pub choices: &'a [CodeChoice],
}

/// A code that the client chose instead of an ended code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChoice {
    /// The path of the notice about the ended code.
    pub path: String,
    /// One of the candidates of the notice.
    pub code: String,
}

/// Translates a body into another version.
///
/// The body is that of a request or of a reply, with or without `data` around it, or an array of
/// bodies. `data` in a reply can be a list of records or of objects that contain a record: changes,
/// and results of a batch. In the reply of an error, only records are translated.
///
/// The problems are those that the other version would report for the translated body:
///
/// - For a request that creates a record, and for a transition: all problems of its rules. The
///   state of the trainee is assumed to allow the transition.
/// - For an update: the problems of the fields in the body alone. Problems that depend on other
///   fields are notices. They cover problems that another field can prevent, and rules that only
///   the other version has and that read a field in the body. If the only fault is a missing field,
///   a rule of both versions is not reported.
/// - For a reply that the client sends back: values that no request may have. The rules are not
///   applied, because the record satisfied them when it was written.
/// - For each repeated key: a problem.
///
/// If `kind` has neither direction nor purpose, and the body has problems both as a request and as a reply, the
/// translation contains both.
#[must_use]
pub fn translate(
    body: &JsonTree,
    from: &Served,
    to: &Served,
    kind: &BodyKind,
    context: TranslationContext<'_>,
) -> Translation {
    let run = |kind| Translator::new(from, to, kind, Some(context)).run(&body.value);
    let mut translation = run(*kind);
    translation.otherwise = other_kind(kind, &translation, from)
        .map(run)
        .filter(|other| !other.problems.is_empty())
        .map(Box::new);
    let repeated: Vec<Problem> = body
        .repeated_keys
        .iter()
        .map(|path| without_key(path, &from.version.wire.envelope))
        .map(|path| Problem::at(Path::Key(path), ProblemKind::RepeatedKey))
        .collect();
    let mut problems = Errors::from_problems(to, context.lists, &repeated).errors;
    problems.append(&mut translation.problems);
    translation.problems = problems;
    translation
}

/// Returns the kind with the other direction, if the direction was guessed and the translation has
/// problems.
fn other_kind(given: &BodyKind, translation: &Translation, from: &Served) -> Option<BodyKind> {
    if given.direction.is_some() || given.purpose.is_some() || translation.problems.is_empty() {
        return None;
    }
    let record = translation.body_kind.record?;
    let guessed = translation.body_kind.direction?;
    let direction = for_record_kind!(record, guess::other_direction(guessed, from))?;
    Some(BodyKind {
        direction: Some(direction),
        ..*given
    })
}

/// Returns a path without the key around a body.
fn without_key(path: &str, envelope: &Envelope) -> String {
    let (index, inner) = match path.find(']') {
        Some(end) if path.starts_with('[') => path.split_at(end + 1),
        Some(_) | None => ("", path),
    };
    let inner = inner.strip_prefix('.').unwrap_or(inner);
    let keys = [envelope.request, envelope.record, envelope.list, DATA];
    let inner = match keys.iter().find_map(|key| inner.strip_prefix(key)) {
        Some(record) if record.starts_with('[') => return format!("{index}{record}"),
        Some(record) => record.strip_prefix('.').unwrap_or(inner),
        None => inner,
    };
    join(index, inner)
}

/// Translates the names in a body without evaluating the result.
#[must_use]
pub fn translate_names(body: &Value, from: &Served, to: &Served, kind: &BodyKind) -> Translation {
    Translator::new(from, to, *kind, None).run(body)
}

/// The key of the record in an entry of the changes, in all versions.
const CHANGED: &str = "trainee";

/// The key of the identifier in an entry of the changes, in all versions.
const TRAINEE_ID: &str = "trainee_id";

/// The state of a translation.
struct Translator<'a> {
    from: &'a Served,
    to: &'a Served,
    kind: BodyKind,
    /// `None` if the result is not evaluated.
    context: Option<TranslationContext<'a>>,
    /// Number of unknown names found so far.
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

    /// Translates the body of one request or reply.
    fn body(&mut self, body: &Value, at: &str) -> Value {
        let Value::Object(object) = body else {
            return self.evaluate(body.clone(), None, at);
        };
        let is_error = object.contains_key("errors") || object.contains_key("error");
        let Some(key) = self.find_key(object) else {
            return if is_error {
                body.clone()
            } else {
                self.record(object, None, at).0
            };
        };
        let envelope = self.to.version.wire.envelope;
        let mut translated_key = key;
        let mut is_list = false;
        let data = match &object[key] {
            Value::Array(records) => {
                // Changes, results of a batch and records in errors have the same key in all versions.
                is_list = !is_error
                    && records
                        .iter()
                        .all(|entry| self.find_holder(entry).is_none());
                if is_list {
                    translated_key = envelope.list;
                }
                records
                    .iter()
                    .enumerate()
                    .map(|(at_list, entry)| self.entry(entry, &format!("{at}[{at_list}]")))
                    .collect()
            }
            Value::Object(record) => {
                let direction = self.direction_of(key, is_error);
                let (record, direction) = self.record(record, direction, at);
                translated_key = match direction {
                    Direction::Request => envelope.request,
                    Direction::Reply => envelope.record,
                };
                record
            }
            data @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                translated_key = envelope.request;
                self.evaluate(data.clone(), None, at)
            }
        };
        let mut translated = rename(object, key, translated_key, &data);
        if is_list {
            self.translate_page(&mut translated);
        }
        Value::Object(translated)
    }

    /// Translates the members with the position of a page. The address of a next page is unknown.
    fn translate_page(&self, reply: &mut Map<String, Value>) {
        let (object, members) = self.from.version.wire.envelope.page;
        let (own_object, own_members) = self.to.version.wire.envelope.page;
        let position = match object {
            "" => Some(&mut *reply),
            name => reply.get_mut(name).and_then(Value::as_object_mut),
        };
        let Some(position) = position else { return };
        let values: Vec<_> = members
            .iter()
            .filter_map(|(name, member)| Some((member, position.shift_remove(*name)?)))
            .collect();
        if values.is_empty() {
            return;
        }
        if !object.is_empty() {
            reply.shift_remove(object);
        }
        let own = own_members.iter().filter_map(|(name, member)| {
            let value = values.iter().find(|(other, _)| *other == member);
            let value = value.map(|(_, value)| value.clone());
            let next = (*member == PageMember::Next).then_some(Value::Null);
            Some(((*name).to_owned(), value.or(next)?))
        });
        if own_object.is_empty() {
            reply.extend(own);
        } else {
            reply.insert(own_object.to_owned(), own.collect());
        }
    }

    /// Returns the key around the content of a body; `None` for a record without such a key.
    fn find_key(&self, object: &Map<String, Value>) -> Option<&'static str> {
        let envelope = &self.from.version.wire.envelope;
        if object.get(envelope.list).is_some_and(Value::is_array) {
            return Some(envelope.list);
        }
        [envelope.request, envelope.record, DATA]
            .into_iter()
            .find(|key| object.contains_key(*key))
    }

    /// Returns the direction of a body with a record under a key; `None` if it can be either.
    fn direction_of(&self, key: &str, is_error: bool) -> Option<Direction> {
        let envelope = &self.from.version.wire.envelope;
        if is_error {
            Some(Direction::Reply)
        } else if envelope.request == envelope.record {
            None
        } else if key == envelope.request {
            Some(Direction::Request)
        } else {
            (key == envelope.record).then_some(Direction::Reply)
        }
    }

    /// Returns the key of the record in an entry of a list, in both versions: in an entry of the
    /// changes and in a result of a batch. `None` for a record without such a key. No record has
    /// fields with these names.
    fn find_holder(&self, entry: &Value) -> Option<[&'static str; 2]> {
        let [before, after] =
            [self.from, self.to].map(|served| served.version.wire.envelope.record);
        if entry.get(before).is_some() && entry.get(IDEMPOTENCY_KEY).is_some() {
            Some([before, after])
        } else {
            [CHANGED, before, DATA]
                .into_iter()
                .find(|name| entry.get(*name).is_some())
                .map(|name| [name, name])
        }
    }

    /// Translates an entry of a list: a record, or an object of a reply that contains one.
    fn entry(&mut self, entry: &Value, at: &str) -> Value {
        let Some(object) = entry.as_object() else {
            return entry.clone();
        };
        let Some([holder, translated]) = self.find_holder(entry) else {
            return self.record(object, None, at).0;
        };
        let mut whole = object.clone();
        if let Some(id) = whole.get_mut(TRAINEE_ID)
            && let Some(canonical) = id
                .as_str()
                .and_then(|id| identifiers::read(self.from.version, TRAINEE_ID, id))
        {
            let written = identifiers::write(self.to.version, TRAINEE_ID, &canonical);
            *id = Value::from(written.into_owned());
        }
        let Some(record) = object.get(holder).and_then(Value::as_object) else {
            return Value::Object(whole);
        };
        let (record, _) = self.record(record, Some(Direction::Reply), &join(at, holder));
        Value::Object(rename(&whole, holder, translated, &record))
    }

    /// Translates and evaluates one record, and returns its direction. `default_direction` applies if
    /// the caller gives none.
    fn record(
        &mut self,
        record: &Map<String, Value>,
        default_direction: Option<Direction>,
        at: &str,
    ) -> (Value, Direction) {
        let given = BodyKind {
            direction: self.kind.direction.or(default_direction),
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
        let evaluated = self.evaluate(translated, Some((kind, direction)), at);
        (evaluated, direction)
    }

    /// Returns a record with the chosen codes. Adds its problems and notices, if evaluation is
    /// requested.
    fn evaluate(
        &mut self,
        record: Value,
        kind: Option<(RecordKind, Direction)>,
        at: &str,
    ) -> Value {
        let default = (
            self.kind.record.unwrap_or(RecordKind::Trainee),
            Direction::Request,
        );
        let (kind, direction) = kind.unwrap_or(default);
        let purpose = self.kind.purpose;
        for_record_kind!(kind, evaluate_record(self, record, direction, purpose, at))
    }
}

/// Returns an object with another key and value for one of its members.
fn rename(
    object: &Map<String, Value>,
    from: &str,
    to: &str,
    content: &Value,
) -> Map<String, Value> {
    let member = |(name, value): (&String, &Value)| {
        if name == from {
            (to.to_owned(), content.clone())
        } else {
            (name.clone(), value.clone())
        }
    };
    object.iter().map(member).collect()
}

/// Returns a record of one kind with the chosen codes. Adds its problems and notices, if evaluation
/// is requested.
fn evaluate_record<R: EvaluatedRecord>(
    translator: &mut Translator<'_>,
    mut record: Value,
    direction: Direction,
    purpose: Option<Purpose>,
    at: &str,
) -> Value {
    let Some(context) = translator.context else {
        return record;
    };
    let (from, to) = (translator.from.version, translator.to);
    let evaluate =
        |record: &Value| evaluate::evaluate::<R>(record, direction, purpose, from, to, context);
    let mut evaluation = evaluate(&record);
    if insert_choices(&mut record, &evaluation.notices, context.choices, at) {
        evaluation = evaluate(&record);
    }
    let out = &mut translator.out;
    out.body_kind.purpose = out.body_kind.purpose.or(evaluation.purpose);
    out.add(evaluation.problems, evaluation.notices, at);
    record
}

/// Replaces ended codes by the chosen candidates. Returns whether the record has changed.
fn insert_choices(
    record: &mut Value,
    notices: &[Finding],
    choices: &[CodeChoice],
    at: &str,
) -> bool {
    let mut has_changed = false;
    for notice in notices {
        let is_candidate = |code: &str| notice.candidates.iter().any(|known| known.code == code);
        let chosen = choices
            .iter()
            .find(|choice| choice.path == join(at, &notice.path) && is_candidate(&choice.code));
        if let Some(choice) = chosen
            && let Some(value) = record.pointer_mut(&pointer(&notice.path))
            && value.is_string()
        {
            *value = Value::from(choice.code.as_str());
            has_changed = true;
        }
    }
    has_changed
}

/// Returns the JSON pointer for a path such as `degrees_attributes[0].grade`.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(']', "").replace(['[', '.'], "/"))
}

#[cfg(test)]
mod tests;
