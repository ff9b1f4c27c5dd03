//! Classifies request and reply bodies by record, direction and purpose.

use std::str::FromStr;

use domain::nested_kinds;
use serde::{Serialize, Serializer};

/// The JSON key of the idempotency key of an item in a batch.
pub const IDEMPOTENCY_KEY: &str = "idempotency_key";

/// A string that is not one of the accepted choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be one of {}", .accepted.join(", "))]
pub struct InvalidChoice {
    /// The accepted choices.
    pub accepted: &'static [&'static str],
}

macro_rules! choices {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $variant_doc:expr])+ $variant:ident = $choice:expr,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $variant_doc])+ $variant,)+
        }

        impl $name {
            /// All variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The names of the variants, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($choice),+];

            /// Returns the name of the variant.
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

macro_rules! record_kinds {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        choices! {
            /// The kind of the record in a body.
            RecordKind {
                /// A trainee, with or without nested records.
                Trainee = "trainee",
                $(
                    #[doc = concat!("A ", stringify!($name), " outside its trainee.")]
                    $record = stringify!($name),
                )+
                /// The input of a withdraw request.
                Withdrawal = "withdrawal",
                /// The input of a defer request.
                Deferral = "deferral",
                /// The input of a recommend request.
                Recommendation = "recommendation",
            }
        }
    };
}
nested_kinds!([record_kinds]);

choices! {
    /// Whether a client sends a body or receives it.
    Direction {
        /// The client sends the body.
        Request = "request",
        /// The client receives the body.
        Reply = "reply",
    }
}

choices! {
    /// The purpose of a request that carries a trainee, a placement or a degree.
    Purpose {
        /// The request creates the record.
        Create = "create",
        /// The request changes the record. Fields without a key keep their values.
        Update = "update",
    }
}

/// Calls a generic function for the record type of a [`RecordKind`].
#[macro_export]
macro_rules! for_record_kind {
    (@kinds $kind:tt $call:tt
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        match $kind {
            $crate::body_kind::RecordKind::Trainee => ::domain::call_with_record!(::domain::Trainee, $call),
            $( $crate::body_kind::RecordKind::$record => ::domain::call_with_record!(::domain::$record, $call), )+
            $crate::body_kind::RecordKind::Withdrawal => ::domain::call_with_record!(::domain::Withdrawal, $call),
            $crate::body_kind::RecordKind::Deferral => ::domain::call_with_record!(::domain::Deferral, $call),
            $crate::body_kind::RecordKind::Recommendation => {
                ::domain::call_with_record!(::domain::Recommendation, $call)
            }
        }
    };
    ($kind:expr, $($call:tt)+) => {
        ::domain::nested_kinds!([$crate::for_record_kind] @kinds ($kind) ($($call)+))
    };
}

/// Calls a generic function for the type of a nested record. Evaluates to `None` for a record that
/// is not nested.
#[macro_export]
macro_rules! for_nested_kind {
    (@kinds $kind:tt $call:tt
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        match $kind {
            $( $crate::body_kind::RecordKind::$record => Some(::domain::call_with_record!(::domain::$record, $call)), )+
            $crate::body_kind::RecordKind::Trainee
            | $crate::body_kind::RecordKind::Withdrawal
            | $crate::body_kind::RecordKind::Deferral
            | $crate::body_kind::RecordKind::Recommendation => None,
        }
    };
    ($kind:expr, $($call:tt)+) => {
        ::domain::nested_kinds!([$crate::for_nested_kind] @kinds ($kind) ($($call)+))
    };
}
