//! The endpoints that a version can have (contract, section 4), one row each.
//!
//! The OpenAPI document, the translation of bodies, shadow checks and tests follow from the row.
//! The handler is the server's.

use std::fmt;
use std::sync::LazyLock;

use domain::Kind;
use serde::ser::{Serialize, Serializer};

use self::ReplyBody as Body;
use self::Tag::{Account, Degrees, Placements, Sandbox, Service, Trainees, Transitions};
use crate::body_kind::{Purpose, RecordKind};

/// The HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates, or carries out an action.
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

/// A group of endpoints in the OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the meaning of each is a string")]
pub enum Tag {
    Trainees,
    Placements,
    Degrees,
    Transitions,
    Service,
    Account,
    Sandbox,
}

impl Tag {
    /// All tags with their names and meanings, in order.
    pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Trainees,
            "trainees",
            "People who train to teach, as one provider registers them",
        ),
        (
            Self::Placements,
            "placements",
            "Periods of school experience",
        ),
        (Self::Degrees, "degrees", "Degrees held before the training"),
        (
            Self::Transitions,
            "transitions",
            "Steps in the life of a trainee's record",
        ),
        (Self::Service, "service", "The service itself"),
        (
            Self::Account,
            "account",
            "What the service knows of the provider that asks; an addition of this service",
        ),
        (
            Self::Sandbox,
            "sandbox",
            "What a test run needs, in the sandbox only; an addition of this service",
        ),
    ];
}

/// What the body of a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBody {
    /// The record.
    pub record: RecordKind,
    /// Whether the record is created or changed; `None` for a transition of the trainee.
    pub purpose: Option<Purpose>,
    /// The endpoint that each item of a batch is a request for; `None` where the body is one
    /// record.
    pub batch_of: Option<Endpoint>,
}

impl RequestBody {
    /// Whether the request creates a trainee.
    #[must_use]
    pub fn creates_trainee(self) -> bool {
        self.record == RecordKind::Trainee && self.purpose == Some(Purpose::Create)
    }
}

/// What the reply to a successful request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after what it shows")]
pub enum ReplyBody {
    ServiceStatus,
    Trainee,
    TraineePage,
    Changes,
    CodeLists,
    Account,
    Usage,
    Readiness,
    Reset,
    /// The result of each item of a batch.
    BatchResults,
    /// A nested record.
    Nested(RecordKind),
    /// Nested records of a kind.
    NestedList(RecordKind),
    /// A list of objects that are no records of the dictionary.
    Entries(&'static [EntryProperty]),
}

/// A property that each entry of a reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryProperty {
    /// The name.
    pub name: &'static str,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// The kind of its value, which may be null.
    pub kind: Kind,
    /// An example, as JSON.
    pub example: &'static str,
}

/// Everything about an endpoint that does not differ between the versions that have it.
#[derive(Debug)]
pub struct Row {
    /// The path below that of the version.
    pub path: &'static str,
    /// The method.
    pub method: Method,
    /// The group in the OpenAPI document.
    pub tag: Tag,
    /// What a request has; `None` where there is no body to read.
    pub request: Option<RequestBody>,
    /// The status of the reply to a successful request.
    pub status: u16,
    /// What that reply shows.
    pub reply: ReplyBody,
    /// That reply, in one sentence.
    pub description: &'static str,
    /// What a client of this endpoint alone should know.
    pub note: Option<&'static str>,
    /// Whether an empty list is answered as missing.
    pub is_missing_when_empty: bool,
    /// The names that a query can have.
    pub query_parameters: &'static [&'static str],
    /// Endpoints for the record that was created, or the trainee that was changed.
    pub next: &'static [Endpoint],
    /// The endpoint that takes its place in later versions.
    pub replaced_by: Option<Endpoint>,
    /// Whether accepted requests are checked against the newest version.
    pub shadow_checked: bool,
    /// Whether only a sandbox has the endpoint. In production its path does not exist.
    pub sandbox_only: bool,
}

impl Row {
    const fn get(
        tag: Tag,
        path: &'static str,
        reply: ReplyBody,
        description: &'static str,
    ) -> Self {
        let (method, request, status, replaced_by, note) = (Method::Get, None, 200, None, None);
        let (query_parameters, next): (&[&str], &[Endpoint]) = (&[], &[]);
        let (is_missing_when_empty, shadow_checked, sandbox_only) = (false, false, false);
        #[rustfmt::skip]
        let row = Self {
            path, method, tag, request, status, reply, description, note, is_missing_when_empty, query_parameters, next,
            replaced_by, shadow_checked, sandbox_only,
        };
        row
    }

    const fn posts(self, record: RecordKind, purpose: Option<Purpose>, status: u16) -> Self {
        let request = Some(RequestBody {
            record,
            purpose,
            batch_of: None,
        });
        Self {
            method: Method::Post,
            request,
            status,
            shadow_checked: true,
            ..self
        }
    }

    const fn creates(self, record: RecordKind, next: &'static [Endpoint]) -> Self {
        Self {
            next,
            ..self.posts(record, Some(Purpose::Create), 201)
        }
    }

    const fn changes(self, record: RecordKind) -> Self {
        Self {
            method: Method::PutOrPatch,
            ..self.posts(record, Some(Purpose::Update), 200)
        }
    }

    const fn deletes(self) -> Self {
        Self {
            method: Method::Delete,
            next: &[Endpoint::ShowTrainee],
            shadow_checked: true,
            ..self
        }
    }

    const fn acts_in_sandbox(self) -> Self {
        Self {
            method: Method::Post,
            sandbox_only: true,
            ..self
        }
    }

    /// Each item is judged as a request of its own, and so is its shadow check.
    const fn creates_many(self, record: RecordKind, batch_of: Endpoint) -> Self {
        let request = Some(RequestBody {
            record,
            purpose: Some(Purpose::Create),
            batch_of: Some(batch_of),
        });
        Self {
            method: Method::Post,
            request,
            ..self
        }
    }

    /// Whether requests can change a record.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.method != Method::Get
    }

    /// Whether the reply shows one thing that can be requested again.
    #[must_use]
    pub fn shows_one(&self) -> bool {
        match self.reply {
            ReplyBody::Trainee | ReplyBody::Nested(_) | ReplyBody::CodeLists => true,
            ReplyBody::ServiceStatus
            | ReplyBody::TraineePage
            | ReplyBody::Changes
            | ReplyBody::NestedList(_)
            | ReplyBody::Account
            | ReplyBody::Usage
            | ReplyBody::Readiness
            | ReplyBody::Reset
            | ReplyBody::BatchResults
            | ReplyBody::Entries(_) => false,
        }
    }

    /// The endpoint that each item of a request is a request for, where a request is a batch.
    #[must_use]
    pub fn batch_of(&self) -> Option<Endpoint> {
        self.request.and_then(|request| request.batch_of)
    }

    /// Whether a request is a batch: requests for another endpoint, each with an idempotency key.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.batch_of().is_some()
    }

    /// Whether a request can state the version of the record that it is for: whatever changes one
    /// existing record.
    #[must_use]
    pub fn takes_if_match(&self) -> bool {
        self.writes() && self.path.contains("{trainee_id}")
    }

    /// Whether problems can be requested by field.
    #[must_use]
    pub fn has_errors_by_field(&self) -> bool {
        self.request
            .is_some_and(|request| request.record == RecordKind::Trainee)
    }
}

macro_rules! endpoints {
    ($($(#[doc = $doc:literal])+ $endpoint:ident = $row:expr,)+) => {
        /// An endpoint that a version can have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Endpoint {
            $($(#[doc = $doc])+ $endpoint,)+
        }

        impl Endpoint {
            /// All endpoints.
            pub const ALL: &'static [Self] = &[$(Self::$endpoint),+];

            /// What the endpoint does, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$endpoint => concat!($($doc),+).trim_ascii()),+ }
            }

            /// What does not differ between versions.
            #[must_use]
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$endpoint => {
                        const ROW: Row = $row;
                        &ROW
                    })+
                }
            }
        }
    };
}

impl Endpoint {
    /// The endpoints beyond the national contract, which this service adds to every version alike.
    pub const ADDITIONS: &'static [Self] = &[
        Self::ListChanges,
        Self::CreateTrainees,
        Self::ShowAccount,
        Self::ShowUsage,
        Self::ShowReadiness,
        Self::ResetSandbox,
        Self::AdvanceTrainee,
    ];

    /// The path below that of the version.
    #[must_use]
    pub const fn path(self) -> &'static str {
        self.row().path
    }

    /// The method.
    #[must_use]
    pub const fn method(self) -> Method {
        self.row().method
    }

    /// The method and the path, such as `GET /trainees`.
    #[must_use]
    pub fn name(self) -> &'static str {
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            Endpoint::ALL
                .iter()
                .map(|endpoint| format!("{} {}", endpoint.method(), endpoint.path()))
                .collect()
        });
        NAMES.get(self as usize).map_or("", String::as_str)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

endpoints! {
    /// Tells that the service is alive.
    Info = Row::get(Service, "/info", Body::ServiceStatus, "The service is alive."),
    /// Lists the trainees of one academic cycle.
    ListTrainees = Row {
        query_parameters: &[
            "academic_cycle", "status", "since", "has_trn", "page", "per_page", "sort_order", "include", "cursor",
        ],
        ..Row::get(Trainees, "/trainees", Body::TraineePage, "A page of trainees.")
    },
    /// Lists what has changed, of all cycles, for those who keep a copy.
    ListChanges = Row {
        query_parameters: &["after", "limit"],
        ..Row::get(Trainees, "/changes", Body::Changes, "Changes, the oldest first; there may be none.")
    },
    /// Registers a trainee.
    CreateTrainee = Row::get(Trainees, "/trainees", Body::Trainee, "The trainee is registered.")
        .creates(RecordKind::Trainee, OF_TRAINEE),
    /// Reads a trainee.
    ShowTrainee = Row::get(Trainees, TRAINEE, Body::Trainee, "The trainee."),
    /// Changes a trainee.
    UpdateTrainee = Row::get(Trainees, TRAINEE, Body::Trainee, "The trainee as changed.").changes(RecordKind::Trainee),
    /// Lists the placements of a trainee.
    ListPlacements = Row::get(Placements, PLACEMENTS, Body::NestedList(RecordKind::Placement), "The placements, oldest first."),
    /// Adds a placement.
    CreatePlacement = Row {
        note: Some("The URN of a known school gives its name and postcode."),
        ..Row::get(Placements, PLACEMENTS, Body::Nested(RecordKind::Placement), "The placement is added.")
            .creates(RecordKind::Placement, OF_PLACEMENT)
    },
    /// Reads a placement.
    ShowPlacement = Row::get(Placements, PLACEMENT, Body::Nested(RecordKind::Placement), "The placement."),
    /// Changes a placement.
    UpdatePlacement =
        Row::get(Placements, PLACEMENT, Body::Nested(RecordKind::Placement), "The placement as changed.").changes(RecordKind::Placement),
    /// Removes a placement.
    DeletePlacement = Row::get(Placements, PLACEMENT, Body::Trainee, "The trainee without the placement.").deletes(),
    /// Lists the degrees of a trainee.
    ListDegrees = Row {
        is_missing_when_empty: true,
        ..Row::get(Degrees, DEGREES, Body::NestedList(RecordKind::Degree), "The degrees, by year of graduation.")
    },
    /// Adds a degree.
    CreateDegree =
        Row::get(Degrees, DEGREES, Body::NestedList(RecordKind::Degree), "The degree is added; it is the only one in the list.")
            .creates(RecordKind::Degree, OF_DEGREE),
    /// Reads a degree.
    ShowDegree = Row::get(Degrees, DEGREE, Body::Nested(RecordKind::Degree), "The degree."),
    /// Changes a degree.
    UpdateDegree = Row::get(Degrees, DEGREE, Body::Nested(RecordKind::Degree), "The degree as changed.").changes(RecordKind::Degree),
    /// Removes a degree.
    DeleteDegree = Row::get(Degrees, DEGREE, Body::Trainee, "The trainee without the degree.").deletes(),
    /// Defers a trainee.
    Defer = Row::get(Transitions, "/trainees/{trainee_id}/defer", Body::Trainee, "The trainee is deferred.")
        .posts(RecordKind::Deferral, None, 200),
    /// Withdraws a trainee.
    Withdraw = Row::get(Transitions, "/trainees/{trainee_id}/withdraw", Body::Trainee, "The trainee is withdrawn.")
        .posts(RecordKind::Withdrawal, None, 200),
    /// Recommends a trainee for the award, by the older name.
    RecommendForQts = Row {
        replaced_by: Some(Endpoint::UpdateQtsOrEytsStatus),
        ..Row::get(Transitions, "/trainees/{trainee_id}/recommend-for-qts", Body::Trainee, RECOMMENDED)
            .posts(RecordKind::Recommendation, None, 202)
    },
    /// Recommends a trainee for the award.
    UpdateQtsOrEytsStatus =
        Row::get(Transitions, "/trainees/{trainee_id}/update-qts-or-eyts-status", Body::Trainee, RECOMMENDED)
            .posts(RecordKind::Recommendation, None, 202),
    /// Publishes the code lists.
    ReferenceData = Row {
        query_parameters: &["field"],
        ..Row::get(Service, "/reference-data", Body::CodeLists, ALL_LISTS)
    },
    /// Registers up to 200 trainees.
    CreateTrainees = Row::get(Trainees, "/trainees/batch", Body::BatchResults, "A result for each item, in order.")
        .creates_many(RecordKind::Trainee, Endpoint::CreateTrainee),
    /// Tells to whom the token belongs.
    ShowAccount = Row::get(Account, "/account", Body::Account, "The provider and the token."),
    /// Reports what the provider has requested.
    ShowUsage = Row {
        query_parameters: &["days"],
        ..Row::get(Account, "/account/usage", Body::Usage, "The requests of the provider's tokens.")
    },
    /// Reports what of the provider's requests the newest version would refuse or lose.
    ShowReadiness = Row {
        query_parameters: &["days"],
        ..Row::get(Account, "/account/readiness", Body::Readiness, "How ready the provider is for the newest version.")
    },
    /// Discards up to 1,000 trainees of the provider; in the sandbox only.
    ResetSandbox = Row::get(Sandbox, "/sandbox/reset", Body::Reset, "How many trainees are discarded, and how many remain.")
        .acts_in_sandbox(),
    /// Issues a TRN to a trainee, confirms the award or reinstates the trainee, whichever comes
    /// next; in the sandbox only.
    AdvanceTrainee = Row::get(Sandbox, "/sandbox/trainees/{trainee_id}/advance", Body::Trainee, "The trainee as changed.")
        .acts_in_sandbox(),
}

const TRAINEE: &str = "/trainees/{trainee_id}";
const PLACEMENTS: &str = "/trainees/{trainee_id}/placements";
const PLACEMENT: &str = "/trainees/{trainee_id}/placements/{placement_id}";
const DEGREES: &str = "/trainees/{trainee_id}/degrees";
const DEGREE: &str = "/trainees/{trainee_id}/degrees/{degree_id}";
const ALL_LISTS: &str = "All code lists by name, or the one that was asked for.";
const RECOMMENDED: &str = "The trainee is recommended for the award.";
#[rustfmt::skip]
const OF_TRAINEE: &[Endpoint] = &[
    Endpoint::ShowTrainee, Endpoint::UpdateTrainee, Endpoint::ListPlacements, Endpoint::CreatePlacement,
    Endpoint::CreateDegree, Endpoint::Defer,
];
const OF_PLACEMENT: &[Endpoint] = &[
    Endpoint::ShowPlacement,
    Endpoint::UpdatePlacement,
    Endpoint::DeletePlacement,
];
const OF_DEGREE: &[Endpoint] = &[
    Endpoint::ShowDegree,
    Endpoint::UpdateDegree,
    Endpoint::DeleteDegree,
];
