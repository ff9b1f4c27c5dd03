//! Forms: how a version writes the values of a field in another way, and how it reads them back.
//!
//! An entry `name = field as FORM` of [`Shape`](crate::Shape) or [`Inputs`](crate::Inputs) has a
//! form. Everything that follows from a version follows from the methods of [`Form`]: replies,
//! requests, messages, the OpenAPI document, the differences between versions and the checks. Each
//! common form has a file here. A version can implement [`Form`] in its crate.

use std::fmt;

use domain::fields::field::{Codes, FieldInfo};
use domain::values::text::is_blank;
use domain::{Kind, Value};
use serde_json::Value as Json;

mod codes;
mod flag;
mod number;
mod prefix;
mod split;
mod unix;
mod words;

pub use codes::LABELLED;
pub use flag::{Flag, ThreeWords};
pub use number::{NUMBER, Scaled};
pub use prefix::Prefix;
pub use split::FirstWord;
pub use unix::{UNIX_SECONDS, UnixSeconds};
pub use words::CodeWords;

/// Writes the values of a field, and reads them back.
pub trait Form: fmt::Debug + Send + Sync {
    /// Returns a phrase that completes "The field is written", such as `in months`.
    fn says(&self) -> String;

    /// Returns a phrase that completes "The value must be", such as `a whole number of months`.
    fn expected(&self) -> String;

    /// Returns the JSON Schema of the written values, without null and without a description. All
    /// members of a split value have this schema.
    fn schema(&self, field: &FormField) -> Json;

    /// Returns the JSON Schema of the values that requests can send.
    fn request_schema(&self, field: &FormField) -> Json {
        self.schema(field)
    }

    /// Writes a canonical value, also null. A form with several [`members`](Form::members) writes
    /// an array of them. Values that the form cannot hold are written by [`plain`].
    fn write(&self, value: &Value<'_>, field: &FormField) -> Json;

    /// Reads a written value other than null. Returns `None` for a value that the form does not
    /// write. The canonical value is null if the written value means no value. Callers use
    /// [`read`].
    fn read(&self, written: &Json, field: &FormField) -> Option<Value<'static>>;

    /// Returns at least one pair of a canonical value and its written form.
    fn samples(&self, field: &FormField) -> Vec<Sample>;

    /// Returns the values that can be read back.
    fn reads(&self, _: &FormField) -> Reads {
        Reads::All
    }

    /// Returns a sentence about values with an unexpected form, for documents.
    fn note(&self, _: &FormField) -> Option<&'static str> {
        None
    }

    /// Returns the number of members of a written value. More than one for a split value.
    fn members(&self) -> usize {
        1
    }
}

/// The written values that a form reads back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// All values.
    All,
    /// All values, without the part that the sentence names: "Milliseconds are cut off."
    WithLoss(&'static str),
    /// No values: requests cannot set the field. The sentence gives the reason.
    Nothing(&'static str),
}

/// A canonical value and its written form.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The canonical value.
    pub canonical: Value<'static>,
    /// The written value; an array for a form with several members.
    pub written: Json,
}

impl Sample {
    /// Returns a sample.
    #[must_use]
    pub fn new(canonical: Value<'static>, written: impl Into<Json>) -> Self {
        Self {
            canonical,
            written: written.into(),
        }
    }
}

/// The properties of a field that a form can depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormField {
    /// The kind of the canonical values.
    pub kind: Kind,
    /// The codes of the field; `None` if the field has no codes.
    pub codes: Option<Codes>,
}

impl From<&FieldInfo> for FormField {
    fn from(info: &FieldInfo) -> Self {
        Self {
            kind: info.kind,
            codes: info.codes,
        }
    }
}

/// A form and the member that an entry has of the written value.
#[derive(Debug, Clone, Copy)]
pub struct MemberForm {
    /// The form.
    pub form: &'static dyn Form,
    /// The index of the member, from 0; 0 for a form with one member.
    pub member: usize,
}

impl MemberForm {
    /// Returns a value as the entry writes it.
    #[must_use]
    pub fn write(&self, value: &Value<'_>, field: &FormField) -> Json {
        member_of(self.form, self.form.write(value, field), self.member)
    }

    /// Describes the form in sentences for documents, such as "Written in months."
    #[must_use]
    pub fn describe(&self, field: &FormField) -> String {
        let lost = match self.form.reads(field) {
            Reads::All => None,
            Reads::WithLoss(lost) => Some(lost),
            Reads::Nothing(reason) => Some(reason),
        };
        let mut description = format!("Written {}.", self.form.says());
        for sentence in self.form.note(field).into_iter().chain(lost) {
            description.push(' ');
            description.push_str(sentence);
        }
        description
    }

    /// Returns the contract of the form: two entries with equal contracts are written in the same
    /// way.
    #[must_use]
    pub fn contract(&self, field: &FormField) -> Json {
        let samples = self.form.samples(field);
        let samples: Vec<[Json; 2]> = samples
            .into_iter()
            .map(|sample| [plain(&sample.canonical), sample.written])
            .collect();
        let mut contract = serde_json::json!({
            "written": self.form.says(),
            "schema": self.form.schema(field),
            "samples": samples,
        });
        if self.form.members() > 1
            && let Some(contract) = contract.as_object_mut()
        {
            contract.insert("member".to_owned(), self.member.into());
        }
        contract
    }
}

/// Reads a written value, or returns `None` for a value that the form does not write. Null is null.
/// Texts that the form writes unchanged are read unchanged, except for blank text.
#[must_use]
pub fn read(form: &dyn Form, written: &Json, field: &FormField) -> Option<Value<'static>> {
    if written.is_null() {
        return Some(Value::Null);
    }
    form.read(written, field).or_else(|| {
        let text = written.as_str().filter(|_| field.kind == Kind::Text)?;
        if is_blank(text) {
            return None;
        }
        let is_unchanged = form.write(&Value::text(text), field) == *written;
        is_unchanged.then(|| Value::Text(text.to_owned().into()))
    })
}

/// Returns a written value as the text of a path or of a query parameter. A text is the same text.
#[must_use]
pub fn to_text(written: Json) -> String {
    match written {
        Json::String(text) => text,
        Json::Null => String::new(),
        other @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
            other.to_string()
        }
    }
}

/// Reads the text of a path or of a query parameter, or returns `None` for a text that the form
/// does not write.
#[must_use]
pub fn read_text(form: &dyn Form, text: &str, field: &FormField) -> Option<Value<'static>> {
    // First as a number or a boolean, because a form may keep any text unchanged.
    let scalar = serde_json::from_str(text)
        .ok()
        .filter(|written: &Json| written.is_number() || written.is_boolean());
    scalar
        .and_then(|written| read(form, &written, field))
        .or_else(|| read(form, &Json::from(text), field))
}

/// Returns a member of a written value.
fn member_of(form: &dyn Form, mut written: Json, member: usize) -> Json {
    if form.members() == 1 {
        return written;
    }
    written.get_mut(member).map_or(Json::Null, Json::take)
}

/// Returns a canonical value as a version without forms writes it.
#[must_use]
pub fn plain(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Text(_) | Value::Date(_) | Value::Timestamp(_) | Value::Uuid(_) => {
            value.to_plain_text().map_or(Json::Null, |text| text.into())
        }
        Value::TextList(texts) => texts.iter().map(|text| Json::from(text.as_ref())).collect(),
        Value::Codes(codes) => codes
            .iter()
            .map(|(name, code)| ((*name).to_owned(), Json::from(code.as_ref())))
            .collect(),
        Value::Document(text) => serde_json::from_str(text).unwrap_or(Json::Null),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A field with values of a kind.
    pub(crate) const fn field_of(kind: Kind) -> FormField {
        FormField { kind, codes: None }
    }

    const FLAG: Flag = Flag {
        yes: "01",
        no: "31",
    };
    const WORDS: ThreeWords = ThreeWords {
        yes: "yes",
        no: "no",
        unknown: "unknown",
    };
    const MONTHS: Scaled = Scaled::new(12, "months");
    const ORDER: CodeWords = CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]);

    #[test]
    fn samples_of_forms_hold_in_both_directions() {
        let forms: [(&dyn Form, &[Kind]); 8] = [
            (&FLAG, &[Kind::Text]),
            (&WORDS, &[Kind::Boolean]),
            (&NUMBER, &[Kind::Integer, Kind::Text, Kind::Year]),
            (&MONTHS, &[Kind::Integer, Kind::Text, Kind::Year]),
            (&Prefix("trn_"), &[Kind::Text]),
            (&FirstWord, &[Kind::Text]),
            (&UNIX_SECONDS, &[Kind::Date, Kind::Timestamp]),
            (&ORDER, &[Kind::Text]),
        ];
        for (form, kinds) in forms {
            for kind in kinds {
                check_samples(form, &field_of(*kind));
            }
        }
        check_samples(&LABELLED, &codes::tests::STUDY_MODE);
    }

    /// Checks the samples of a form in both directions.
    #[track_caller]
    fn check_samples(form: &dyn Form, field: &FormField) {
        let samples = form.samples(field);
        assert!(!samples.is_empty(), "{form:?} has no samples");
        for Sample { canonical, written } in samples {
            assert_eq!(form.write(&canonical, field), written);
            assert_eq!(read(form, &written, field), Some(canonical));
        }
    }
}
