//! The definition of an API version.

use std::borrow::Cow;

use chrono::NaiveDate;
use domain::fields::accepted_codes::AcceptedCodes;
use domain::rules::Rules;
use domain::{Deferral, Kind, Recommendation, Record, Trainee, Withdrawal, nested_kinds};

use crate::body_kind::RecordKind;
use crate::endpoint::{Endpoint, EndpointRow, Method, ReplyBody};
use crate::filters::FilterForms;
use crate::label::Label;
use crate::shape::{Inputs, Shape};
use crate::wire_form::Wire;

/// An API version.
#[derive(Debug, Clone, Copy)]
pub struct ApiVersion {
    /// The label, which is part of the path.
    pub label: Label,
    /// The dates of publication, deprecation and removal.
    pub publication: Publication,
    /// The fields of responses.
    pub shapes: Shapes,
    /// The fields that requests can set.
    pub inputs: AllInputs,
    /// The rules of the version.
    pub rules: Rules,
    /// The accepted codes.
    pub accepted_codes: AcceptedCodes,
    /// The endpoints.
    pub endpoints: Endpoints,
    /// The newest version whose field names are refused. Set to the newest version at the time of
    /// writing, and never changed after the release. Names that only later versions have are
    /// accepted, not stored, and listed in a `Warning`.
    pub refuses_names_up_to: Label,
    /// The form of problems in nested records when a client requests problems by field.
    pub nested_errors: NestedErrors,
    /// The terms that differ between versions.
    pub vocabulary: Vocabulary,
    /// The form of values, envelopes and errors.
    pub wire: Wire,
    /// Notes for clients, one sentence each.
    pub notes: &'static [&'static str],
}

impl ApiVersion {
    /// Returns the properties of an endpoint in this version.
    #[must_use]
    pub fn row(&self, endpoint: Endpoint) -> &'static EndpointRow {
        self.wire
            .endpoints
            .iter()
            .find(|(changed, _)| *changed == endpoint)
            .map_or_else(|| endpoint.row(), |(_, row)| row)
    }
}

/// The dates and the status of a version. Its successor is the next version in the list.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// The day of publication; `None` while no date is set.
    pub since: Option<NaiveDate>,
    /// The environments that the version is released for.
    pub status: Status,
    /// The first day of the deprecation; `None` if it is not announced.
    pub deprecated_on: Option<NaiveDate>,
    /// The day of the removal; `None` if it is not announced.
    pub sunset_on: Option<NaiveDate>,
}

/// The environments that a version is released for. A server serves every version in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The sandbox and production.
    Released,
    /// The sandbox.
    SandboxOnly,
}

/// The fields of a kind of nested record in responses.
#[derive(Debug)]
pub struct NestedShapes<R: Record> {
    /// The fields in replies of the endpoints of the nested record.
    pub alone: Shape<R>,
    /// The fields within a trainee.
    pub in_trainee: Shape<R>,
}

// Not derived: `derive` would require `R: Clone`.
impl<R: Record> Clone for NestedShapes<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for NestedShapes<R> {}

impl<R: Record> NestedShapes<R> {
    /// Returns shapes with the same fields in both places.
    #[must_use]
    pub const fn from_shape(shape: Shape<R>) -> Self {
        Self {
            alone: shape,
            in_trainee: shape,
        }
    }

    /// Whether the fields within a trainee differ from the fields in replies of the endpoints.
    #[must_use]
    pub fn differ(&self) -> bool {
        let alone = self.alone.entries.iter();
        let in_trainee = self.in_trainee.entries.iter();
        !alone
            .map(|entry| (entry.name, entry.when_set))
            .eq(in_trainee.map(|entry| (entry.name, entry.when_set)))
    }

    /// Whether the version has records of this kind.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.alone.entries.is_empty()
    }
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The fields of the responses of a version.
        #[derive(Debug, Clone, Copy)]
        pub struct Shapes {
            /// The fields of a trainee.
            pub trainee: Shape<Trainee>,
            /// Whether trainees in lists have nested records.
            pub nested_in_lists: NestedVisibility,
            $(
                #[doc = concat!("The fields of a ", stringify!($name), ".")]
                pub $name: NestedShapes<domain::$record>,
            )+
        }

        impl Shapes {
            /// No fields. Versions use this value for the kinds of records that they do not have.
            pub const NONE: Self = Self {
                trainee: Shape::EMPTY,
                nested_in_lists: NestedVisibility::Hidden,
                $( $name: NestedShapes::from_shape(Shape::EMPTY), )+
            };
        }

        /// The fields that requests of a version can set.
        #[derive(Debug, Clone, Copy)]
        pub struct AllInputs {
            /// The inputs of a trainee.
            pub trainee: Inputs<Trainee>,
            $(
                #[doc = concat!("The inputs of a ", stringify!($name), ".")]
                pub $name: Inputs<domain::$record>,
            )+
            /// The inputs of a withdrawal.
            pub withdrawal: Inputs<Withdrawal>,
            /// The inputs of a deferral.
            pub deferral: Inputs<Deferral>,
            /// The inputs of a recommendation.
            pub recommendation: Inputs<Recommendation>,
            /// The filters of lists that are written in another form.
            pub filters: FilterForms,
        }

        impl AllInputs {
            /// No inputs; see [`Shapes::NONE`].
            pub const NONE: Self = Self {
                trainee: Inputs::EMPTY,
                $( $name: Inputs::EMPTY, )+
                withdrawal: Inputs::EMPTY,
                deferral: Inputs::EMPTY,
                recommendation: Inputs::EMPTY,
                filters: &[],
            };
        }
    };
}
nested_kinds!([declare]);

/// Whether a trainee in a response has its nested records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum NestedVisibility {
    Shown,
    Hidden,
}

impl NestedVisibility {
    /// Whether fields of that kind are shown. Only lists of nested records can be hidden.
    #[must_use]
    pub fn shows(self, kind: Kind) -> bool {
        self == Self::Shown || kind != Kind::Records
    }
}

/// The endpoints of a version. Every version also has [`Endpoint::ADDITIONS`].
#[derive(Debug, Clone, Copy)]
pub struct Endpoints {
    /// Endpoints that are not deprecated.
    pub available: &'static [Endpoint],
    /// Deprecated endpoints. They still work.
    pub deprecated: &'static [Deprecation],
}

/// A deprecated endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Deprecation {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The first day of the deprecation.
    pub since: NaiveDate,
    /// The first version without the endpoint.
    pub removed_in: Label,
}

impl Endpoints {
    /// Returns all endpoints of the version: available, deprecated and
    /// [additional](Endpoint::ADDITIONS) ones.
    pub fn all(&self) -> impl Iterator<Item = Endpoint> {
        let available = self.available.iter().copied();
        let deprecated = self
            .deprecated
            .iter()
            .map(|deprecation| deprecation.endpoint);
        let additions = Endpoint::ADDITIONS.iter().copied();
        available.chain(deprecated).chain(additions)
    }

    /// Returns the endpoint that shows one nested record of a kind, or `None` if the version has no
    /// such endpoint.
    #[must_use]
    pub fn that_shows(&self, kind: RecordKind) -> Option<Endpoint> {
        self.all().find(|endpoint| {
            endpoint.method() == Method::Get && endpoint.row().reply == ReplyBody::Nested(kind)
        })
    }

    /// Whether the version has the endpoint, deprecated or not.
    #[must_use]
    pub fn has(&self, endpoint: Endpoint) -> bool {
        self.all().any(|known| known == endpoint)
    }

    /// Returns the endpoint of this version that replaces `endpoint`, or `None` if there is none.
    /// An endpoint can be replaced several times between two versions.
    #[must_use]
    pub fn replacement(&self, endpoint: Endpoint) -> Option<Endpoint> {
        first_successor(
            endpoint,
            |endpoint| endpoint.row().replaced_by,
            |other| self.has(other),
        )
    }

    /// Returns the endpoint of this version with the same function as an endpoint of another
    /// version: its replacement or its predecessor. `None` if there is neither.
    #[must_use]
    pub fn counterpart(&self, endpoint: Endpoint) -> Option<Endpoint> {
        self.replacement(endpoint).or_else(|| {
            self.all().find(|older| {
                let next = |endpoint: Endpoint| endpoint.row().replaced_by;
                first_successor(*older, next, |other| other == endpoint).is_some()
            })
        })
    }

    /// Returns the deprecation of an endpoint, or `None` if the endpoint is not deprecated.
    #[must_use]
    pub fn deprecation(&self, endpoint: Endpoint) -> Option<&'static Deprecation> {
        self.deprecated
            .iter()
            .find(|deprecation| deprecation.endpoint == endpoint)
    }
}

/// Follows the successors of an endpoint to the first one that is `wanted`. `next` returns the
/// direct successor.
fn first_successor(
    endpoint: Endpoint,
    next: impl Fn(Endpoint) -> Option<Endpoint>,
    wanted: impl Fn(Endpoint) -> bool,
) -> Option<Endpoint> {
    std::iter::successors(next(endpoint), |other| next(*other))
        // Ends the search if successors form a circle.
        .take(Endpoint::ALL.len())
        .find(|other| wanted(*other))
}

/// The form of problems in nested records when a client requests problems by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedErrors {
    /// Under the path of the field, like problems of any other field.
    Flat,
    /// In an object under the name of the array.
    Nested,
}

impl NestedErrors {
    /// Returns the name of the form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Nested => "nested",
        }
    }
}

/// The terms that differ between versions.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// The term for an organisation that delivers training together with the provider.
    pub training_partner: &'static str,
}

impl Vocabulary {
    /// The terms in descriptions of fields and rules.
    const CANONICAL: Self = Self {
        training_partner: "training partner",
    };

    /// Replaces the canonical terms in a sentence by the terms of the version.
    #[must_use]
    pub fn apply<'a>(&self, sentence: &'a str) -> Cow<'a, str> {
        let canonical = Self::CANONICAL.training_partner;
        let own = self.training_partner;
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

/// Returns the term with a capital first letter.
#[must_use]
pub fn capitalised(term: &str) -> String {
    let mut letters = term.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Returns a date at build time. Does not compile if the day does not exist.
#[must_use]
pub const fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    match NaiveDate::from_ymd_opt(year, month, day) {
        Some(date) => date,
        None => panic!("no such day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_is_found_over_several_steps_and_in_circles() {
        let [first, second, third] = [
            Endpoint::RecommendForQts,
            Endpoint::UpdateQtsOrEytsStatus,
            Endpoint::CreateTrainee,
        ];
        let chain = |endpoint: Endpoint| {
            let chain = [(first, second), (second, third), (third, first)];
            let found = chain.iter().find(|(before, _)| *before == endpoint);
            found.map(|(_, after)| *after)
        };
        let found = |from, wanted| first_successor(from, chain, |other| other == wanted);
        assert_eq!(found(first, third), Some(third));
        assert_eq!(found(second, first), Some(first));
        assert_eq!(found(first, Endpoint::Info), None);
    }
}
