//! Spells a payload of one version as another version does, and says what becomes of it there.
//!
//! Everything is computed from the two versions: which field a key stands for in the one, what the
//! other calls that field, and which of the other's rules the body would break. Values are handed on
//! as they are. Nothing is looked up: a school or training partner with a well-formed number counts
//! as known.
//!
//! Works on JSON trees, and is not on the way of any request for a record. A key that stands twice in
//! an object has been seen once by then.

use adapter_kit::versions::Served;
use chrono::NaiveDate;
use domain::Lists;
use serde_json::{Map, Value};

mod about;
mod fate;
mod findings;
mod guess;
mod judge;
mod names;
mod partial;

pub use about::{About, Direction, Purpose, RecordKind, UnknownWord};
pub use findings::{Loss, Remark, Rename, Translation, Why};

use about::of_kind;
use names::{Side, spell};

/// What is known of the world besides the two versions.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
}

/// Spells a body as another version does.
///
/// The body is that of a request or of a reply, with or without `data` around it, or an array of
/// bodies. A reply can have a list in `data`. What a body is follows from its keys, where `about` does
/// not say it: the record and the direction in which most of its keys are known. The reply of an error
/// stays as it is, but for the records in it.
///
/// The problems are what the other version would answer to the body as it is spelt now:
///
/// - to a request that makes a record or moves a trainee, all problems of its rules; the trainee that
///   is moved is taken to be one whose state allows it;
/// - to an update, the problems that the fields in the body have by themselves. What follows from
///   fields that the body does not have is a remark, or nothing when the missing field is all that is
///   wrong. A body counts as an update when it has less than half of what every such record must have;
/// - to a reply whose fields are sent back, the values that no request could send. Its record obeyed
///   the rules when it was written, so they are not asked.
#[must_use]
pub fn translate(body: &Value, from: &Served, to: &Served, about: &About, setting: Setting<'_>) -> Translation {
    Pass::new(from, to, *about, Some(setting)).whole(body)
}

/// Spells a body as another version does, without a word on what that version would answer.
#[must_use]
pub fn respell(body: &Value, from: &Served, to: &Served, about: &About) -> Translation {
    Pass::new(from, to, *about, None).whole(body)
}

/// One translation on its way.
struct Pass<'a> {
    from: &'a Served,
    to: &'a Served,
    about: About,
    /// `None` when nobody asks what would be answered.
    setting: Option<Setting<'a>>,
    /// Unknown names so far.
    unknown: usize,
    out: Translation,
}

impl<'a> Pass<'a> {
    fn new(from: &'a Served, to: &'a Served, about: About, setting: Option<Setting<'a>>) -> Self {
        let out = Translation::new(from.version.label, to.version.label);
        Self { from, to, about, setting, unknown: 0, out }
    }

    fn whole(mut self, body: &Value) -> Translation {
        self.out.data = match body {
            Value::Array(bodies) => {
                bodies.iter().enumerate().map(|(at, body)| self.body(body, &format!("[{at}]"))).collect()
            }
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.body(body, "")
            }
        };
        self.out
    }

    /// The body of one request or reply.
    fn body(&mut self, body: &Value, at: &str) -> Value {
        let Value::Object(object) = body else {
            self.answer(body, None, at);
            return body.clone();
        };
        let is_error = object.contains_key("errors") || object.contains_key("error");
        let data = match object.get("data") {
            None if is_error => return body.clone(),
            None => return Value::Object(self.record(object, None, at)),
            Some(Value::Array(records)) => {
                let each = |(position, record): (usize, &Value)| match record {
                    Value::Object(record) => {
                        Value::Object(self.record(record, Some(Direction::Reply), &format!("{at}[{position}]")))
                    }
                    Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                        record.clone()
                    }
                };
                records.iter().enumerate().map(each).collect()
            }
            Some(Value::Object(record)) => Value::Object(self.record(record, is_error.then_some(Direction::Reply), at)),
            Some(data @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))) => {
                self.answer(data, None, at);
                data.clone()
            }
        };
        let mut data = Some(data);
        let whole = object.iter().map(|(key, value)| {
            let spelt = if key == "data" { data.take() } else { None };
            (key.clone(), spelt.unwrap_or_else(|| value.clone()))
        });
        Value::Object(whole.collect())
    }

    /// One record, and what would be answered to it.
    fn record(&mut self, record: &Map<String, Value>, usual: Option<Direction>, at: &str) -> Map<String, Value> {
        let about = About { direction: self.about.direction.or(usual), ..self.about };
        let (kind, direction) = guess::guess(record, self.from, self.to, about);
        if self.out.taken_for.record.is_none() {
            self.out.taken_for = About { record: Some(kind), direction: Some(direction), purpose: None };
        }
        let spelt = of_kind!(kind, spell(self, record, Side::of_record(direction), at));
        let spelt = Value::Object(spelt);
        self.answer(&spelt, Some((kind, direction)), at);
        if let Value::Object(spelt) = spelt { spelt } else { Map::new() }
    }

    /// What would be answered to a record, if anybody asks.
    fn answer(&mut self, record: &Value, what: Option<(RecordKind, Direction)>, at: &str) {
        let Some(setting) = self.setting else { return };
        let guessed = (self.about.record.unwrap_or(RecordKind::Trainee), Direction::Request);
        let (kind, direction) = what.unwrap_or(guessed);
        let verdict = of_kind!(kind, judge::verdict(record, direction, self.about.purpose, self.to, setting));
        self.out.taken_for.purpose = self.out.taken_for.purpose.or(verdict.purpose);
        self.out.add(verdict, at);
    }
}

#[cfg(test)]
mod tests;
