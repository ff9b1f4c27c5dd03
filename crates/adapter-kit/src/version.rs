//! A version of the API, as a value.

use std::borrow::Cow;

use chrono::NaiveDate;
use domain::fields::accepted_codes::AcceptedCodes;
use domain::rules::Rules;
use domain::{Deferral, Kind, Recommendation, Record, Trainee, Withdrawal, nested_kinds};

use crate::body_kind::RecordKind;
use crate::endpoint::{Endpoint, Method, ReplyBody};
use crate::label::Label;
use crate::shape::{Inputs, Shape};
use crate::wire_form::Wire;

/// Everything that a version of the API is.
#[derive(Debug, Clone, Copy)]
pub struct ApiVersion {
    /// Its label, which is part of its path.
    pub label: Label,
    /// Since when it exists, and for how long.
    pub publication: Publication,
    /// What its responses look like.
    pub shapes: Shapes,
    /// What its requests can set.
    pub inputs: AllInputs,
    /// The rules that bind it.
    pub rules: Rules,
    /// The codes that it accepts.
    pub accepted_codes: AcceptedCodes,
    /// The endpoints that it has.
    pub endpoints: Endpoints,
    /// The newest version whose names for its inputs it refuses: the newest one when it is made,
    /// and never changed after it was released. Names that only later versions have are accepted,
    /// not stored, and named in a `Warning`.
    pub refuses_names_up_to: Label,
    /// How it reports problems in nested records, when a client requests problems by field.
    pub nested_errors: NestedErrors,
    /// Its terms, where versions differ.
    pub vocabulary: Vocabulary,
    /// How it writes what it has.
    pub wire: Wire,
    /// What a client should know, one sentence each.
    pub notes: &'static [&'static str],
}

/// Since when a version exists, and for how long. Its successor is the next one in the list of
/// versions.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// The day on which it appears; `None` while no date is set.
    pub since: Option<NaiveDate>,
    /// Where it can be used.
    pub status: Status,
    /// The day from which it should no longer be used.
    pub deprecated_on: Option<NaiveDate>,
    /// The day on which it is removed.
    pub sunset_on: Option<NaiveDate>,
}

/// Where a version can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// In the sandbox and in production.
    Released,
    /// In the sandbox.
    SandboxOnly,
}

/// What the responses of a version show of a kind of nested record.
#[derive(Debug)]
pub struct NestedShapes<R: Record> {
    /// A record from its endpoints.
    pub alone: Shape<R>,
    /// A record in its trainee.
    pub in_trainee: Shape<R>,
}

// Written out, because a derive would ask the same of `R`.
impl<R: Record> Clone for NestedShapes<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for NestedShapes<R> {}

impl<R: Record> NestedShapes<R> {
    /// The same fields in both places.
    #[must_use]
    pub const fn from_shape(shape: Shape<R>) -> Self {
        Self {
            alone: shape,
            in_trainee: shape,
        }
    }

    /// Whether a trainee shows other fields of its records than their endpoints do.
    #[must_use]
    pub fn differ(&self) -> bool {
        let fields = |shape: &Shape<R>| {
            shape
                .entries
                .iter()
                .map(|entry| (entry.name, entry.when_set))
                .collect::<Vec<_>>()
        };
        fields(&self.alone) != fields(&self.in_trainee)
    }

    /// Whether the version has records of this kind.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.alone.entries.is_empty()
    }
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// What the responses of a version look like.
        #[derive(Debug, Clone, Copy)]
        pub struct Shapes {
            /// A trainee.
            pub trainee: Shape<Trainee>,
            /// Whether a trainee in a list has nested records.
            pub nested_in_lists: NestedVisibility,
            $(
                #[doc = concat!("A ", stringify!($name), ".")]
                pub $name: NestedShapes<domain::$record>,
            )+
        }

        impl Shapes {
            /// No fields: the rest of what a version lists, so that it lists nothing for a kind of
            /// record that it does not have.
            pub const NONE: Self = Self {
                trainee: Shape::EMPTY,
                nested_in_lists: NestedVisibility::Hidden,
                $( $name: NestedShapes::from_shape(Shape::EMPTY), )+
            };
        }

        /// What the requests of a version can set.
        #[derive(Debug, Clone, Copy)]
        pub struct AllInputs {
            /// On a trainee.
            pub trainee: Inputs<Trainee>,
            $(
                #[doc = concat!("On a ", stringify!($name), ".")]
                pub $name: Inputs<domain::$record>,
            )+
            /// To withdraw.
            pub withdrawal: Inputs<Withdrawal>,
            /// To defer.
            pub deferral: Inputs<Deferral>,
            /// To recommend.
            pub recommendation: Inputs<Recommendation>,
        }

        impl AllInputs {
            /// No fields; see [`Shapes::NONE`].
            pub const NONE: Self = Self {
                trainee: Inputs::EMPTY,
                $( $name: Inputs::EMPTY, )+
                withdrawal: Inputs::EMPTY,
                deferral: Inputs::EMPTY,
                recommendation: Inputs::EMPTY,
            };
        }
    };
}
nested_kinds!([declare]);

/// Whether a response has the records nested in a trainee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum NestedVisibility {
    Shown,
    Hidden,
}

impl NestedVisibility {
    /// Whether a field of that kind is shown.
    #[must_use]
    pub fn shows(self, kind: Kind) -> bool {
        self == Self::Shown || kind != Kind::Records
    }
}

/// The endpoints of a version. Besides those that it lists it has the additions of this service
/// ([`Endpoint::ADDITIONS`]), and no others.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints {
    /// Endpoints to use.
    pub available: &'static [Endpoint],
    /// Endpoints that still work.
    pub deprecated: &'static [Deprecation],
}

/// An endpoint that still works and should no longer be used.
#[derive(Debug, Clone, Copy)]
pub struct Deprecation {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The day since when.
    pub since: NaiveDate,
    /// The version in which it is gone.
    pub removed_in: Label,
}

impl Endpoints {
    /// All endpoints that work: those that the version lists, the deprecated ones included, and the
    /// additions of this service.
    pub fn all(&self) -> impl Iterator<Item = Endpoint> {
        let of_version = self
            .available
            .iter()
            .copied()
            .chain(self.deprecated.iter().map(|gone| gone.endpoint));
        of_version.chain(Endpoint::ADDITIONS.iter().copied())
    }

    /// The endpoint that shows one nested record of a kind.
    #[must_use]
    pub fn that_shows(&self, kind: RecordKind) -> Option<Endpoint> {
        let shows_one = |endpoint: &Endpoint| {
            endpoint.method() == Method::Get && endpoint.row().reply == ReplyBody::Nested(kind)
        };
        self.all().find(shows_one)
    }

    /// Whether the endpoint works, deprecated or not.
    #[must_use]
    pub fn has(&self, endpoint: Endpoint) -> bool {
        self.all().any(|known| known == endpoint)
    }

    /// The endpoint of this version to use instead of another one.
    #[must_use]
    pub fn replacement(&self, endpoint: Endpoint) -> Option<Endpoint> {
        endpoint.row().replaced_by.filter(|other| self.has(*other))
    }

    /// The endpoint of this version that does what another one does elsewhere, be it its
    /// replacement or the one that it replaced.
    #[must_use]
    pub fn counterpart(&self, endpoint: Endpoint) -> Option<Endpoint> {
        let replaced = |older: &Endpoint| older.row().replaced_by == Some(endpoint);
        self.replacement(endpoint)
            .or_else(|| self.all().find(replaced))
    }

    /// Why an endpoint should no longer be used.
    #[must_use]
    pub fn deprecation(&self, endpoint: Endpoint) -> Option<&'static Deprecation> {
        self.deprecated
            .iter()
            .find(|gone| gone.endpoint == endpoint)
    }
}

/// How problems in nested records are reported by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedErrors {
    /// Each under its path, like those of any other field.
    Flat,
    /// In an object under the name of the array.
    Nested,
}

impl NestedErrors {
    /// The name of the form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Nested => "nested",
        }
    }
}

/// The terms of a version, where versions differ.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// An organisation that delivers training together with the provider.
    pub training_partner: &'static str,
}

impl Vocabulary {
    /// The terms in the meanings of fields and rules.
    const CANONICAL: Self = Self {
        training_partner: "training partner",
    };

    /// Replaces the canonical terms in a sentence by those of the version.
    #[must_use]
    pub fn apply<'a>(&self, sentence: &'a str) -> Cow<'a, str> {
        let (canonical, own) = (Self::CANONICAL.training_partner, self.training_partner);
        if canonical == own || !sentence.to_lowercase().contains(canonical) {
            return Cow::Borrowed(sentence);
        }
        Cow::Owned(
            sentence
                .replace(canonical, own)
                .replace(&capitalised(canonical), &capitalised(own)),
        )
    }
}

/// The term with a capital letter.
#[must_use]
pub fn capitalised(term: &str) -> String {
    let mut letters = term.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// A date of a publication, at build time.
#[must_use]
pub const fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    match NaiveDate::from_ymd_opt(year, month, day) {
        Some(date) => date,
        None => panic!("no such day"),
    }
}
