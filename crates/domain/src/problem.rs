//! Problems and notices about a request: their paths and kinds.
//!
//! A [`Path`] consists of canonical fields. The crate `adapter-kit` writes messages with the field
//! names of a version.

use chrono::NaiveDate;

use crate::fields::field::Field;

mod kind;

pub use kind::{Code, NameHint, ProblemKind};

/// The path of a problem in a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Path {
    /// The whole body: `data`.
    Data,
    /// A field of the record.
    Field(Field),
    /// A nested list as a whole.
    List(Field),
    /// A field of a record in a nested list.
    Nested {
        /// The nested list.
        list: Field,
        /// The position of the record in the list, from 0.
        position: usize,
        /// The field of the nested record.
        field: Field,
    },
    /// A record in a nested list as a whole.
    Position {
        /// The nested list.
        list: Field,
        /// The position of the record in the list, from 0.
        position: usize,
    },
    /// A key that is not a field of this version.
    Key(String),
    /// A key of a record in a nested list that is not a field of this version.
    NestedKey {
        /// The nested list.
        list: Field,
        /// The position of the record in the list, from 0.
        position: usize,
        /// The key as sent.
        key: String,
    },
}

impl<F: Into<Field>> From<F> for Path {
    fn from(field: F) -> Self {
        Self::Field(field.into())
    }
}

impl Path {
    /// Converts a path within a nested record to the path within its trainee. A path other than a
    /// field or a key becomes the path of the nested record.
    #[must_use]
    pub fn nested(self, list: Field, position: usize) -> Self {
        match self {
            Self::Field(field) => Self::Nested {
                list,
                position,
                field,
            },
            Self::Key(key) => Self::NestedKey {
                list,
                position,
                key,
            },
            Self::Data
            | Self::List(_)
            | Self::Nested { .. }
            | Self::Position { .. }
            | Self::NestedKey { .. } => Self::Position { list, position },
        }
    }
}

/// A reason for refusing a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path.
    pub at: Path,
    /// The kind.
    pub kind: ProblemKind,
}

impl Problem {
    /// Returns a problem at a path.
    pub fn at(at: impl Into<Path>, kind: ProblemKind) -> Self {
        Self {
            at: at.into(),
            kind,
        }
    }

    /// Converts a problem of a nested record to a problem of its trainee.
    #[must_use]
    pub fn nested(self, list: Field, position: usize) -> Self {
        Self {
            at: self.at.nested(list, position),
            ..self
        }
    }

    /// Whether the problem is about a value. Returns false if `data` is missing or the state does
    /// not allow the request.
    #[must_use]
    pub fn concerns_value(&self) -> bool {
        self.at != Path::Data && !self.kind.is_transition()
    }
}

/// A notice about an accepted request, such as an ignored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The path.
    pub at: Path,
    /// The kind.
    pub kind: NoticeKind,
}

impl Notice {
    /// Whether the notice is about an unknown name. Other notices are about values.
    #[must_use]
    pub const fn concerns_name(&self) -> bool {
        matches!(self.kind, NoticeKind::UnknownName { .. })
    }
}

/// The kinds of notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeKind {
    /// The version has no field with the name.
    UnknownName {
        /// A hint about the name.
        hint: NameHint,
    },
    /// The nested list was ignored. Its records have separate endpoints.
    UseEndpoint,
    /// The name is one of replies only, and its value was ignored. The reply has another value.
    NotAnInput {
        /// The input that sets the value; `None` if only the service sets it.
        input: Option<Field>,
    },
    /// The group and the background match no ethnicity and were ignored.
    NoMatch,
    /// The value was ignored. The school with the URN provides it.
    GivenBySchool,
    /// The sent value equals the shown value, which is a copy of another field. The request changes
    /// the other field, and the value changes with it.
    MovesWith {
        /// The other field.
        field: Field,
    },
    /// The request has only read-only fields.
    ReadOnly,
    /// The code was dropped, because another code had to be inserted before it.
    Dropped {
        /// The code.
        code: String,
    },
    /// The code is not in the list of institutions and was ignored.
    NotInList {
        /// The code as sent.
        value: String,
        /// A listed code that differs only in leading zeros.
        listed: Option<String>,
    },
    /// The value was ignored, because another field has priority.
    DecidedBy {
        /// The other field.
        field: Field,
    },
    /// The grade in words was ignored, because the grade is not "other".
    NoOtherGrade,
    /// The time of day was ignored. The time was not midnight in UTC.
    TimeLeftOut {
        /// The recorded day.
        day: NaiveDate,
    },
}
