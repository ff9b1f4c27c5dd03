//! What a body is: of which record, in which direction, and for what.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// What a body is, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct About {
    /// The record that it is about.
    pub record: Option<RecordKind>,
    /// Whether it is sent or answered.
    pub direction: Option<Direction>,
    /// What a request is for. Transitions and replies have no purpose.
    pub purpose: Option<Purpose>,
}

/// A text that is none of the words that it should be one of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord {
    /// The words.
    pub accepted: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "it must be one of {}", self.accepted.join(", "))
    }
}

impl std::error::Error for UnknownWord {}

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $variant_doc])+ $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The words for them, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.iter().copied();
                all.find(|it| it.word() == text).ok_or(UnknownWord { accepted: Self::WORDS })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
}

words! {
    /// A record that a body can be about.
    RecordKind {
        /// A trainee, with or without nested records.
        Trainee = "trainee",
        /// A placement by itself.
        Placement = "placement",
        /// A degree by itself.
        Degree = "degree",
        /// The input of withdraw.
        Withdrawal = "withdrawal",
        /// The input of defer.
        Deferral = "deferral",
        /// The input of a recommendation.
        Recommendation = "recommendation",
    }
}

words! {
    /// Whether a body is sent or answered.
    Direction {
        /// A client sends it.
        Request = "request",
        /// The register answers it.
        Reply = "reply",
    }
}

words! {
    /// What a request for a trainee, a placement or a degree is for.
    Purpose {
        /// It makes the record.
        Create = "create",
        /// It changes the record, and has only what changes.
        Update = "update",
    }
}

/// Calls a function for the type of a record.
macro_rules! of_kind {
    ($kind:expr, $($function:ident)::+($($argument:expr),* $(,)?)) => {
        match $kind {
            $crate::translate::RecordKind::Trainee => $($function)::+::<domain::Trainee>($($argument),*),
            $crate::translate::RecordKind::Placement => $($function)::+::<domain::Placement>($($argument),*),
            $crate::translate::RecordKind::Degree => $($function)::+::<domain::Degree>($($argument),*),
            $crate::translate::RecordKind::Withdrawal => $($function)::+::<domain::Withdrawal>($($argument),*),
            $crate::translate::RecordKind::Deferral => $($function)::+::<domain::Deferral>($($argument),*),
            $crate::translate::RecordKind::Recommendation => $($function)::+::<domain::Recommendation>($($argument),*),
        }
    };
}
pub(super) use of_kind;
