//! The definitions of fields: name, meaning, type, length and codes.
//!
//! [`FieldInfo::check`] validates a single value by the definition of its field. Rules check
//! required fields and combinations of values.

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
    /// The canonical name. The newest version uses this name.
    pub name: &'static str,
    /// The description, one sentence.
    pub meaning: &'static str,
    /// The type of the values.
    pub kind: Kind,
    /// The maximum length of text, in Unicode scalar values; `None` without a limit.
    pub max: Option<usize>,
    /// The accepted codes; `None` if the field accepts any text.
    pub codes: Option<Codes>,
    /// Whether requests may set the field.
    pub input: bool,
    /// Whether white space in sent text is trimmed and collapsed.
    pub collapses_whitespace: bool,
    /// Whether only imports from older systems set the field.
    pub imported: bool,
    /// The canonical name of the input that the service sets the stored field from; `None` for all
    /// other fields.
    pub set_from: Option<&'static str>,
    /// Whether every record has a value in the field.
    pub never_null: bool,
    /// Whether all versions require the field.
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
            // The text of a doc comment begins with a space.
            meaning: meaning.trim_ascii(),
            kind,
            max: None,
            codes: None,
            input,
            collapses_whitespace: false,
            imported: false,
            set_from: None,
            // Empty values of these types are not shown as null.
            never_null: matches!(kind, Kind::Boolean | Kind::TextList | Kind::Records),
            required: false,
        }
    }

    /// Limits the length of text.
    pub(crate) const fn max(self, characters: usize) -> Self {
        Self {
            max: Some(characters),
            ..self
        }
    }

    /// Accepts only codes of a list.
    pub(crate) const fn code_of(self, list: List) -> Self {
        Self {
            codes: Some(Codes::Listed(list)),
            ..self
        }
    }

    /// Accepts only these words.
    pub(crate) const fn one_of(self, words: &'static [&'static str]) -> Self {
        Self {
            codes: Some(Codes::OneOf(words)),
            ..self
        }
    }

    /// Trims and collapses white space in sent text.
    pub(crate) const fn collapse_whitespace(self) -> Self {
        Self {
            collapses_whitespace: true,
            ..self
        }
    }

    /// Marks a field that only imports from older systems set.
    pub(crate) const fn imported(self) -> Self {
        Self {
            imported: true,
            ..self
        }
    }

    /// Marks a stored field that the service sets from an input of the same record.
    pub(crate) const fn set_from(self, input: &'static str) -> Self {
        Self {
            set_from: Some(input),
            ..self
        }
    }

    /// Marks a field with a value in every record.
    pub(crate) const fn never_null(self) -> Self {
        Self {
            never_null: true,
            ..self
        }
    }

    /// Marks a field that all versions require.
    pub(crate) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    /// Checks the length and the code of a value. Returns `None` if the value is valid.
    #[must_use]
    pub fn check(
        &self,
        value: &Value<'_>,
        lists: &Lists,
        accepted_codes: &AcceptedCodes,
    ) -> Option<InvalidValue> {
        let text = value.as_text()?;
        // Only a text with more than `max` characters has a character at this index.
        if let Some(max) = self.max.filter(|max| text.chars().nth(*max).is_some()) {
            return Some(InvalidValue::TooLong { max });
        }
        let accepted: Vec<String> = match self.codes? {
            Codes::Listed(list) => {
                if lists.contains(list, text) && accepted_codes.accepts(list, text) {
                    return None;
                }
                lists
                    .codes(list)
                    .filter(|code| accepted_codes.accepts(list, code))
                    .map(str::to_owned)
                    .collect()
            }
            Codes::OneOf(words) => {
                if words.contains(&text) {
                    return None;
                }
                words.iter().map(|word| (*word).to_owned()).collect()
            }
        };
        Some(InvalidValue::UnknownCode {
            value: text.to_owned(),
            accepted,
        })
    }
}

/// The reason why a value is invalid in a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidValue {
    /// The text is too long.
    TooLong {
        /// The maximum length, in Unicode scalar values.
        max: usize,
    },
    /// The code is unknown or not accepted.
    UnknownCode {
        /// The code as sent.
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

    /// Returns the definition of the field.
    fn info(self) -> &'static FieldInfo;

    /// Returns the index of the field in [`RecordField::ALL`].
    fn index(self) -> usize;

    /// Whether records store the field. Other fields are computed.
    fn is_stored(self) -> bool;

    /// Whether responses show the stored value unchanged.
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
    /// Returns the field at an index of the record with this name. Only the macro `record!` calls
    /// this function.
    pub(crate) const fn new(record: &'static str, index: usize, info: &'static FieldInfo) -> Self {
        Self {
            record,
            index,
            info,
        }
    }

    /// Returns the definition of the field.
    #[must_use]
    pub const fn info(self) -> &'static FieldInfo {
        self.info
    }

    /// Returns the name of the record, such as `trainee`.
    #[must_use]
    pub const fn record(self) -> &'static str {
        self.record
    }

    /// Converts to a field of the record `F`. Returns `None` if the field belongs to another
    /// record.
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
