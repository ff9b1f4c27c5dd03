//! What can be wrong with a request, and where: paths and kinds, no names of a version and no
//! prose.
//!
//! Only a version knows what a field is called there, so a [`Problem`] has a [`Path`]; the adapter
//! kit writes the message.

use chrono::NaiveDate;

use crate::fields::field::Field;

mod kind;

pub use kind::{Code, NameHint, ProblemKind};

/// The place in a request that a problem is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Path {
    /// The whole body: `data`.
    Data,
    /// A field of the record.
    Field(Field),
    /// A nested list as a whole.
    List(Field),
    /// A field of a record in a nested list. Positions count from 0.
    Nested {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
        /// The field there.
        field: Field,
    },
    /// A record in a nested list as a whole.
    Position {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
    },
    /// A key that the client sent and that is no field of this version.
    Key(String),
    /// Such a key of a record in a nested list.
    NestedKey {
        /// The nested list.
        list: Field,
        /// The position in it.
        position: usize,
        /// The key as it was sent.
        key: String,
    },
}

impl<F: Into<Field>> From<F> for Path {
    fn from(field: F) -> Self {
        Self::Field(field.into())
    }
}

impl Path {
    /// The same place, seen from the record that has the nested list.
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

/// Something that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: Path,
    /// What.
    pub kind: ProblemKind,
}

impl Problem {
    /// A problem of that kind at that place.
    pub fn at(at: impl Into<Path>, kind: ProblemKind) -> Self {
        Self {
            at: at.into(),
            kind,
        }
    }

    /// The same problem, seen from the record that has the nested list.
    #[must_use]
    pub fn nested(self, list: Field, position: usize) -> Self {
        Self {
            at: self.at.nested(list, position),
            ..self
        }
    }

    /// Whether a value is invalid, rather than missing `data` or a state that does not allow the
    /// request.
    #[must_use]
    pub fn concerns_value(&self) -> bool {
        self.at != Path::Data && !self.kind.is_transition()
    }
}

/// Something that was done otherwise than the client may think, in a request that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Where.
    pub at: Path,
    /// What.
    pub kind: NoticeKind,
}

impl Notice {
    /// Whether the notice is about a name that the version does not have, rather than about a
    /// value.
    #[must_use]
    pub const fn concerns_name(&self) -> bool {
        matches!(self.kind, NoticeKind::UnknownName { .. })
    }
}

/// What a client should know about an accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeKind {
    /// No field of that name is known.
    UnknownName {
        /// What it may stand for.
        hint: NameHint,
    },
    /// The nested list is not read here; its records have endpoints of their own.
    UseEndpoint,
    /// The value matches no entry and was left out.
    NoMatch,
    /// The linked school gives the value.
    GivenBySchool,
    /// The value was sent as it was shown, so that it changes together with another field.
    MovesWith {
        /// The other field.
        field: Field,
    },
    /// All that was sent are fields that no request sets.
    ReadOnly,
    /// The code fell away, since another had to come first.
    Dropped {
        /// The code.
        code: String,
    },
    /// The code is not in the list of institutions, and was left out.
    NotInList {
        /// The code as it was sent.
        value: String,
        /// The listed code that differs in leading zeros only.
        listed: Option<String>,
    },
    /// The value was left out, since that of another field decides.
    DecidedBy {
        /// The other field.
        field: Field,
    },
    /// The grade in words was left out, since the grade does not say that it is another one.
    NoOtherGrade,
    /// The time of day was left out, and is not midnight in UTC.
    TimeLeftOut {
        /// The day that is recorded.
        day: NaiveDate,
    },
}
