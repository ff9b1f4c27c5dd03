//! What a body is: of which record, in which direction, and for what purpose.

use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A string that is not one of the accepted choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be one of {}", .accepted.join(", "))]
pub struct InvalidChoice {
    /// The accepted choices.
    pub accepted: &'static [&'static str],
}

macro_rules! choices {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $variant_doc:literal])+ $variant:ident = $choice:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $variant_doc])+ $variant,)+
        }

        impl $name {
            /// All variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($choice),+];

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $choice),+ }
            }
        }

        impl FromStr for $name {
            type Err = InvalidChoice;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.iter().copied();
                all.find(|choice| choice.name() == text).ok_or(InvalidChoice { accepted: Self::NAMES })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

choices! {
    /// A record that a body can have.
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

choices! {
    /// Whether a client sends a body or receives it.
    Direction {
        /// The client sends it.
        Request = "request",
        /// The client receives it.
        Reply = "reply",
    }
}

choices! {
    /// What a request for a trainee, a placement or a degree is for.
    Purpose {
        /// It creates the record.
        Create = "create",
        /// It changes the record, and has only what changes.
        Update = "update",
    }
}

/// Calls a generic function for the type of a record.
#[macro_export]
macro_rules! for_record_kind {
    ($kind:expr, $($function:ident)::+($($argument:expr),* $(,)?)) => {
        match $kind {
            $crate::body_kind::RecordKind::Trainee => $($function)::+::<::domain::Trainee>($($argument),*),
            $crate::body_kind::RecordKind::Placement => $($function)::+::<::domain::Placement>($($argument),*),
            $crate::body_kind::RecordKind::Degree => $($function)::+::<::domain::Degree>($($argument),*),
            $crate::body_kind::RecordKind::Withdrawal => $($function)::+::<::domain::Withdrawal>($($argument),*),
            $crate::body_kind::RecordKind::Deferral => $($function)::+::<::domain::Deferral>($($argument),*),
            $crate::body_kind::RecordKind::Recommendation => $($function)::+::<::domain::Recommendation>($($argument),*),
        }
    };
}
