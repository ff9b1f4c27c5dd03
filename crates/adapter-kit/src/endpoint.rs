//! The endpoints that a version can have (contract, section 4).

use std::fmt;

use serde::ser::{Serialize, Serializer};

/// What is asked of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes, or carries out an action.
    Post,
    /// Changes; PUT and PATCH mean the same here.
    PutOrPatch,
    /// Removes.
    Delete,
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::PutOrPatch => "PUT or PATCH",
            Self::Delete => "DELETE",
        })
    }
}

macro_rules! endpoints {
    ($($(#[doc = $doc:literal])+ $endpoint:ident = $method:ident $path:literal,)+) => {
        /// An endpoint that a version can have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Endpoint {
            $($(#[doc = $doc])+ $endpoint,)+
        }

        impl Endpoint {
            /// All endpoints.
            pub const ALL: &'static [Self] = &[$(Self::$endpoint),+];

            /// The path below that of the version.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$endpoint => $path),+ }
            }

            /// What the endpoint does, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$endpoint => concat!($($doc),+).trim_ascii()),+ }
            }

            /// What is asked of the path.
            #[must_use]
            pub const fn method(self) -> Method {
                match self { $(Self::$endpoint => Method::$method),+ }
            }

        }

        impl fmt::Display for Endpoint {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{} {}", self.method(), self.path())
            }
        }
    };
}
impl Endpoint {
    /// Whether a reply that reads carries an entity tag.
    #[must_use]
    pub fn has_entity_tag(self) -> bool {
        [Self::ShowTrainee, Self::ShowPlacement, Self::ShowDegree, Self::ReferenceData].contains(&self)
    }

    /// The names that a query can have.
    #[must_use]
    pub const fn query_parameters(self) -> &'static [&'static str] {
        match self {
            Self::ListTrainees => &["academic_cycle", "status", "since", "has_trn", "page", "per_page", "sort_order"],
            Self::ReferenceData => &["field"],
            Self::Info
            | Self::CreateTrainee
            | Self::ShowTrainee
            | Self::UpdateTrainee
            | Self::ListPlacements
            | Self::CreatePlacement
            | Self::ShowPlacement
            | Self::UpdatePlacement
            | Self::DeletePlacement
            | Self::ListDegrees
            | Self::CreateDegree
            | Self::ShowDegree
            | Self::UpdateDegree
            | Self::DeleteDegree
            | Self::Defer
            | Self::Withdraw
            | Self::RecommendForQts
            | Self::UpdateQtsOrEytsStatus => &[],
        }
    }

    /// Whether a request can say for which state of a record it is meant: whatever changes a record that is there.
    #[must_use]
    pub fn takes_if_match(self) -> bool {
        self.method() != Method::Get && self != Self::CreateTrainee
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

endpoints! {
    /// Tells that the service is alive.
    Info = Get "/info",
    /// Lists the trainees of one academic cycle.
    ListTrainees = Get "/trainees",
    /// Registers a trainee.
    CreateTrainee = Post "/trainees",
    /// Reads a trainee.
    ShowTrainee = Get "/trainees/{trainee_id}",
    /// Changes a trainee.
    UpdateTrainee = PutOrPatch "/trainees/{trainee_id}",
    /// Lists the placements of a trainee.
    ListPlacements = Get "/trainees/{trainee_id}/placements",
    /// Adds a placement.
    CreatePlacement = Post "/trainees/{trainee_id}/placements",
    /// Reads a placement.
    ShowPlacement = Get "/trainees/{trainee_id}/placements/{placement_id}",
    /// Changes a placement.
    UpdatePlacement = PutOrPatch "/trainees/{trainee_id}/placements/{placement_id}",
    /// Removes a placement.
    DeletePlacement = Delete "/trainees/{trainee_id}/placements/{placement_id}",
    /// Lists the degrees of a trainee.
    ListDegrees = Get "/trainees/{trainee_id}/degrees",
    /// Adds a degree.
    CreateDegree = Post "/trainees/{trainee_id}/degrees",
    /// Reads a degree.
    ShowDegree = Get "/trainees/{trainee_id}/degrees/{degree_id}",
    /// Changes a degree.
    UpdateDegree = PutOrPatch "/trainees/{trainee_id}/degrees/{degree_id}",
    /// Removes a degree.
    DeleteDegree = Delete "/trainees/{trainee_id}/degrees/{degree_id}",
    /// Defers a trainee.
    Defer = Post "/trainees/{trainee_id}/defer",
    /// Withdraws a trainee.
    Withdraw = Post "/trainees/{trainee_id}/withdraw",
    /// Recommends a trainee for the award, by the older name.
    RecommendForQts = Post "/trainees/{trainee_id}/recommend-for-qts",
    /// Recommends a trainee for the award.
    UpdateQtsOrEytsStatus = Post "/trainees/{trainee_id}/update-qts-or-eyts-status",
    /// Publishes the code lists.
    ReferenceData = Get "/reference-data",
}
