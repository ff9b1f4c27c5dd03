//! The definitions of fields: name, meaning, type, length and codes.
//!
//! What every input must satisfy by itself ([`FieldInfo::check`]) follows from the definition.
//! Which fields are required, and which values may be combined, are rules.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::value::{Kind, Value};
use crate::lists::{List, Lists};

/// The values that a coded field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// The codes of a list of the reference data.
    Listed(List),
    /// A few fixed words.
    OneOf(&'static [&'static str]),
}

/// The definition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo {
    /// The canonical name, which is that of the newest version.
    pub name: &'static str,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// The longest text, in Unicode scalar values.
    pub max: Option<usize>,
    /// The codes that it accepts.
    pub codes: Option<Codes>,
    /// Whether a request may set it.
    pub input: bool,
    /// Whether white space is trimmed and collapsed before anything else reads the text.
    pub collapses_whitespace: bool,
    /// Whether only an import from an older system fills it.
    pub imported: bool,
    /// Whether every record has a value in it.
    pub never_null: bool,
    /// Whether a submission needs it, in every version.
    pub required: bool,
}

impl FieldInfo {
    pub(crate) const fn new(
        name: &'static str,
        meaning: &'static str,
        kind: Kind,
        input: bool,
    ) -> Self {
        Self {
            name,
            // A doc comment keeps the space after its slashes.
            meaning: meaning.trim_ascii(),
            kind,
            max: None,
            codes: None,
            input,
            collapses_whitespace: false,
            imported: false,
            // The empty value of these types is not null.
            never_null: matches!(kind, Kind::Boolean | Kind::TextList | Kind::Records),
            required: false,
        }
    }

    pub(crate) const fn max(self, characters: usize) -> Self {
        Self {
            max: Some(characters),
            ..self
        }
    }

    pub(crate) const fn code_of(self, list: List) -> Self {
        Self {
            codes: Some(Codes::Listed(list)),
            ..self
        }
    }

    pub(crate) const fn one_of(self, words: &'static [&'static str]) -> Self {
        Self {
            codes: Some(Codes::OneOf(words)),
            ..self
        }
    }

    pub(crate) const fn collapse_whitespace(self) -> Self {
        Self {
            collapses_whitespace: true,
            ..self
        }
    }

    pub(crate) const fn imported(self) -> Self {
        Self {
            imported: true,
            ..self
        }
    }

    pub(crate) const fn never_null(self) -> Self {
        Self {
            never_null: true,
            ..self
        }
    }

    pub(crate) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    /// Why the field cannot store the value: its length, or a code that is unknown or not accepted.
    #[must_use]
    pub fn check(
        &self,
        value: &Value<'_>,
        lists: &Lists,
        accepted_codes: &AcceptedCodes,
    ) -> Option<InvalidValue> {
        let text = value.as_text()?;
        if let Some(max) = self.max.filter(|max| text.chars().nth(*max).is_some()) {
            return Some(InvalidValue::TooLong { max });
        }
        let accepts = |list, code: &str| accepted_codes.accepts(list, code);
        let accepted: Vec<String> = match self.codes? {
            Codes::Listed(list) if lists.contains(list, text) && accepts(list, text) => {
                return None;
            }
            Codes::Listed(list) => lists
                .codes(list)
                .filter(|code| accepts(list, code))
                .map(str::to_owned)
                .collect(),
            Codes::OneOf(words) if words.contains(&text) => return None,
            Codes::OneOf(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        };
        Some(InvalidValue::UnknownCode {
            value: text.to_owned(),
            accepted,
        })
    }
}

/// Why a field cannot store a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidValue {
    /// The text is too long.
    TooLong {
        /// The longest text, in Unicode scalar values.
        max: usize,
    },
    /// The code is not accepted.
    UnknownCode {
        /// The code as it was sent.
        value: String,
        /// The accepted codes, in code order.
        accepted: Vec<String>,
    },
}

/// The fields of one record: an enum with a variant for each canonical name.
pub trait RecordField: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// All fields, in the order of the dictionary.
    const ALL: &'static [Self];
    /// The name of the record, such as `trainee`.
    const RECORD: &'static str;

    /// The definition of the field.
    fn info(self) -> &'static FieldInfo;

    /// The index of the field in [`RecordField::ALL`].
    fn index(self) -> usize;

    /// Whether records store the field; otherwise it is computed.
    fn is_stored(self) -> bool;

    /// Whether a response shows the stored value unchanged.
    fn is_shown_as_stored(self) -> bool;
}

/// A field of any record.
#[derive(Clone, Copy)]
pub struct Field {
    record: &'static str,
    index: usize,
    info: &'static FieldInfo,
}

impl Field {
    /// For the declaration of records alone.
    pub(crate) const fn new(record: &'static str, index: usize, info: &'static FieldInfo) -> Self {
        Self {
            record,
            index,
            info,
        }
    }

    /// The definition of the field.
    #[must_use]
    pub const fn info(self) -> &'static FieldInfo {
        self.info
    }

    /// The name of its record, such as `trainee`.
    #[must_use]
    pub const fn record(self) -> &'static str {
        self.record
    }

    /// The field among those of a record; `None` when it belongs to another one.
    #[must_use]
    pub fn to_record_field<F: RecordField>(self) -> Option<F> {
        if self.record == F::RECORD {
            F::ALL.get(self.index).copied()
        } else {
            None
        }
    }
}

impl<F: RecordField> From<F> for Field {
    fn from(field: F) -> Self {
        Self {
            record: F::RECORD,
            index: field.index(),
            info: field.info(),
        }
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (self.record, self.index) == (other.record, other.index)
    }
}

impl Eq for Field {}

impl Hash for Field {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.record, self.index).hash(state);
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.record, self.info.name)
    }
}
