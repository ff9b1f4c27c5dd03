//! The endpoints that a version can have (contract, section 4), one row each.
//!
//! The OpenAPI document, the translation of bodies, shadow checks and tests use these rows. The
//! handlers are in the crate `gateway`.

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
    /// Reads a resource.
    Get,
    /// Creates a resource or performs an action.
    Post,
    /// Changes a resource. PUT and PATCH have the same effect.
    PutOrPatch,
    /// Removes a resource.
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
#[expect(missing_docs, reason = "`Tag::ALL` has a meaning for each")]
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
            "The provider of the token and its use of the API; an addition of this service",
        ),
        (
            Self::Sandbox,
            "sandbox",
            "What a test run needs, in the sandbox only; an addition of this service",
        ),
    ];
}

/// The contents of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBody {
    /// The kind of the record.
    pub record: RecordKind,
    /// Whether the record is created or changed; `None` for a transition of a trainee.
    pub purpose: Option<Purpose>,
    /// For a batch, the endpoint that handles each item. `None` if the body is a single record.
    pub batch_of: Option<Endpoint>,
}

/// The contents of the reply to a successful request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after its contents")]
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
    /// A list of objects with these properties. The objects are not records of the dictionary.
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

/// The properties of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointRow {
    /// The path relative to the path of the version, such as `/trainees`.
    pub path: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The group in the OpenAPI document.
    pub tag: Tag,
    /// The contents of the request body; `None` if the endpoint reads no body.
    pub request: Option<RequestBody>,
    /// The HTTP status of a successful reply.
    pub status: u16,
    /// The contents of a successful reply.
    pub reply: ReplyBody,
    /// The description of a successful reply, one sentence.
    pub description: &'static str,
    /// A note for clients of this endpoint.
    pub note: Option<&'static str>,
    /// Whether the endpoint answers 404 instead of an empty list.
    pub is_missing_when_empty: bool,
    /// The names of the query parameters.
    pub query_parameters: &'static [&'static str],
    /// Endpoints for the created record or the changed trainee.
    pub next: &'static [Endpoint],
    /// The endpoint that replaces this one in later versions.
    pub replaced_by: Option<Endpoint>,
    /// Whether accepted requests are checked against the newest version.
    pub shadow_checked: bool,
    /// Whether only sandboxes have the endpoint. In production the path does not exist.
    pub sandbox_only: bool,
}

impl EndpointRow {
    /// Returns the row of an endpoint that only reads. Other functions turn the row into one of an
    /// endpoint that writes.
    const fn get(
        tag: Tag,
        path: &'static str,
        reply: ReplyBody,
        description: &'static str,
    ) -> Self {
        Self {
            path,
            method: Method::Get,
            tag,
            request: None,
            status: 200,
            reply,
            description,
            note: None,
            is_missing_when_empty: false,
            query_parameters: &[],
            next: &[],
            replaced_by: None,
            shadow_checked: false,
            sandbox_only: false,
        }
    }

    /// Turns the row into an endpoint that reads a record from the body of a POST request. `status`
    /// is the status of a successful reply.
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

    /// Turns the row into an endpoint that creates a record. `next` are endpoints for that record.
    const fn creates(self, record: RecordKind, next: &'static [Endpoint]) -> Self {
        Self {
            next,
            ..self.posts(record, Some(Purpose::Create), 201)
        }
    }

    /// Turns the row into an endpoint that changes a record.
    const fn changes(self, record: RecordKind) -> Self {
        Self {
            method: Method::PutOrPatch,
            ..self.posts(record, Some(Purpose::Update), 200)
        }
    }

    /// Turns the row into an endpoint that removes a nested record.
    const fn deletes(self) -> Self {
        Self {
            method: Method::Delete,
            next: &[Endpoint::ShowTrainee],
            shadow_checked: true,
            ..self
        }
    }

    /// Turns the row into an action without a body that only sandboxes have.
    const fn acts_in_sandbox(self) -> Self {
        Self {
            method: Method::Post,
            sandbox_only: true,
            ..self
        }
    }

    /// Turns the row into a batch endpoint. Items are handled and shadow-checked one by one, so the
    /// batch itself has no shadow check.
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

    /// Returns the method and the path, such as `GET /trainees`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether the endpoint can change a record.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.method != Method::Get
    }

    /// Whether the reply shows a single resource that has its own URL.
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

    /// Returns the endpoint that handles each item, or `None` if requests are not batches.
    #[must_use]
    pub fn batch_of(&self) -> Option<Endpoint> {
        self.request.and_then(|request| request.batch_of)
    }

    /// Whether requests are batches of items with an idempotency key each.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.batch_of().is_some()
    }

    /// Whether requests can have `If-Match`. Endpoints that change one existing record accept it.
    #[must_use]
    pub fn takes_if_match(&self) -> bool {
        self.writes() && self.path.contains("{trainee_id}")
    }

    /// Whether clients can request problems grouped by field.
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

            /// Returns one sentence that describes the endpoint.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$endpoint => concat!($($doc),+).trim_ascii()),+ }
            }

            /// Returns the properties of the endpoint in versions that do not change them
            /// ([`ApiVersion::row`](crate::ApiVersion::row)).
            #[must_use]
            pub const fn row(self) -> &'static EndpointRow {
                match self {
                    $(Self::$endpoint => {
                        const ROW: EndpointRow = $row;
                        &ROW
                    })+
                }
            }
        }
    };
}

impl Endpoint {
    /// Endpoints that this service adds to every version. The national contract lacks them.
    pub const ADDITIONS: &'static [Self] = &[
        Self::ListChanges,
        Self::CreateTrainees,
        Self::ShowAccount,
        Self::ShowUsage,
        Self::ShowReadiness,
        Self::ResetSandbox,
        Self::AdvanceTrainee,
    ];

    /// Returns the path relative to the path of a version that does not change it.
    #[must_use]
    pub const fn path(self) -> &'static str {
        self.row().path
    }

    /// Returns the HTTP method in versions that do not change it.
    #[must_use]
    pub const fn method(self) -> Method {
        self.row().method
    }

    /// Returns the method and the path in versions that do not change them, such as
    /// `GET /trainees`.
    #[must_use]
    pub fn name(self) -> &'static str {
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            Endpoint::ALL
                .iter()
                .map(|endpoint| endpoint.row().name())
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
    /// Reports that the service is alive.
    Info = EndpointRow::get(Service, "/info", Body::ServiceStatus, "The service is alive."),
    /// Lists the trainees of one academic cycle.
    ListTrainees = EndpointRow {
        query_parameters: &[
            "academic_cycle", "status", "since", "has_trn", "page", "per_page", "sort_order", "include", "cursor",
        ],
        ..EndpointRow::get(Trainees, "/trainees", Body::TraineePage, "A page of trainees.")
    },
    /// Lists changes of all academic cycles, for clients that keep a copy.
    ListChanges = EndpointRow {
        query_parameters: &["after", "limit"],
        ..EndpointRow::get(Trainees, "/changes", Body::Changes, "Changes, the oldest first; there may be none.")
    },
    /// Registers a trainee.
    CreateTrainee = EndpointRow::get(Trainees, "/trainees", Body::Trainee, "The trainee is registered.")
        .creates(RecordKind::Trainee, AFTER_TRAINEE),
    /// Reads a trainee.
    ShowTrainee = EndpointRow::get(Trainees, TRAINEE, Body::Trainee, "The trainee."),
    /// Changes a trainee.
    UpdateTrainee = EndpointRow::get(Trainees, TRAINEE, Body::Trainee, "The trainee as changed.").changes(RecordKind::Trainee),
    /// Lists the placements of a trainee.
    ListPlacements = EndpointRow::get(Placements, PLACEMENTS, Body::NestedList(RecordKind::Placement), "The placements, oldest first."),
    /// Adds a placement.
    CreatePlacement = EndpointRow {
        note: Some("The URN of a known school gives its name and postcode."),
        ..EndpointRow::get(Placements, PLACEMENTS, Body::Nested(RecordKind::Placement), "The placement is added.")
            .creates(RecordKind::Placement, AFTER_PLACEMENT)
    },
    /// Reads a placement.
    ShowPlacement = EndpointRow::get(Placements, PLACEMENT, Body::Nested(RecordKind::Placement), "The placement."),
    /// Changes a placement.
    UpdatePlacement =
        EndpointRow::get(Placements, PLACEMENT, Body::Nested(RecordKind::Placement), "The placement as changed.").changes(RecordKind::Placement),
    /// Removes a placement.
    DeletePlacement = EndpointRow::get(Placements, PLACEMENT, Body::Trainee, "The trainee without the placement.").deletes(),
    /// Lists the degrees of a trainee.
    ListDegrees = EndpointRow {
        is_missing_when_empty: true,
        ..EndpointRow::get(Degrees, DEGREES, Body::NestedList(RecordKind::Degree), "The degrees, by year of graduation.")
    },
    /// Adds a degree.
    CreateDegree =
        EndpointRow::get(Degrees, DEGREES, Body::NestedList(RecordKind::Degree), "The degree is added; it is the only one in the list.")
            .creates(RecordKind::Degree, AFTER_DEGREE),
    /// Reads a degree.
    ShowDegree = EndpointRow::get(Degrees, DEGREE, Body::Nested(RecordKind::Degree), "The degree."),
    /// Changes a degree.
    UpdateDegree = EndpointRow::get(Degrees, DEGREE, Body::Nested(RecordKind::Degree), "The degree as changed.").changes(RecordKind::Degree),
    /// Removes a degree.
    DeleteDegree = EndpointRow::get(Degrees, DEGREE, Body::Trainee, "The trainee without the degree.").deletes(),
    /// Defers a trainee.
    Defer = EndpointRow::get(Transitions, "/trainees/{trainee_id}/defer", Body::Trainee, "The trainee is deferred.")
        .posts(RecordKind::Deferral, None, 200),
    /// Withdraws a trainee.
    Withdraw = EndpointRow::get(Transitions, "/trainees/{trainee_id}/withdraw", Body::Trainee, "The trainee is withdrawn.")
        .posts(RecordKind::Withdrawal, None, 200),
    /// Recommends a trainee for the award, by the older name.
    RecommendForQts = EndpointRow {
        replaced_by: Some(Endpoint::UpdateQtsOrEytsStatus),
        ..EndpointRow::get(Transitions, "/trainees/{trainee_id}/recommend-for-qts", Body::Trainee, RECOMMENDED)
            .posts(RecordKind::Recommendation, None, 202)
    },
    /// Recommends a trainee for the award.
    UpdateQtsOrEytsStatus =
        EndpointRow::get(Transitions, "/trainees/{trainee_id}/update-qts-or-eyts-status", Body::Trainee, RECOMMENDED)
            .posts(RecordKind::Recommendation, None, 202),
    /// Publishes the code lists.
    ReferenceData = EndpointRow {
        query_parameters: &["field"],
        ..EndpointRow::get(Service, "/reference-data", Body::CodeLists, ALL_LISTS)
    },
    /// Registers up to 200 trainees.
    CreateTrainees = EndpointRow::get(Trainees, "/trainees/batch", Body::BatchResults, "A result for each item, in order.")
        .creates_many(RecordKind::Trainee, Endpoint::CreateTrainee),
    /// Shows the provider and the token of the request.
    ShowAccount = EndpointRow::get(Account, "/account", Body::Account, "The provider and the token."),
    /// Reports what the provider has requested.
    ShowUsage = EndpointRow {
        query_parameters: &["days"],
        ..EndpointRow::get(Account, "/account/usage", Body::Usage, "The requests of the provider's tokens.")
    },
    /// Reports which of the provider's requests the newest version would refuse, and what it would
    /// drop.
    ShowReadiness = EndpointRow {
        query_parameters: &["days"],
        ..EndpointRow::get(Account, "/account/readiness", Body::Readiness, "How ready the provider is for the newest version.")
    },
    /// Discards up to 1,000 trainees of the provider; in the sandbox only.
    ResetSandbox = EndpointRow::get(Sandbox, "/sandbox/reset", Body::Reset, "How many trainees are discarded, and how many remain.")
        .acts_in_sandbox(),
    /// Issues a TRN to a trainee, confirms the award or reinstates the trainee, whichever comes
    /// next; in the sandbox only.
    AdvanceTrainee = EndpointRow::get(Sandbox, "/sandbox/trainees/{trainee_id}/advance", Body::Trainee, "The trainee as changed.")
        .acts_in_sandbox(),
}

const TRAINEE: &str = "/trainees/{trainee_id}";
const PLACEMENTS: &str = "/trainees/{trainee_id}/placements";
const PLACEMENT: &str = "/trainees/{trainee_id}/placements/{placement_id}";
const DEGREES: &str = "/trainees/{trainee_id}/degrees";
const DEGREE: &str = "/trainees/{trainee_id}/degrees/{degree_id}";
const ALL_LISTS: &str = "All code lists by name, or the requested one.";
const RECOMMENDED: &str = "The trainee is recommended for the award.";
#[rustfmt::skip]
const AFTER_TRAINEE: &[Endpoint] = &[
    Endpoint::ShowTrainee, Endpoint::UpdateTrainee, Endpoint::ListPlacements, Endpoint::CreatePlacement,
    Endpoint::CreateDegree, Endpoint::Defer,
];
const AFTER_PLACEMENT: &[Endpoint] = &[
    Endpoint::ShowPlacement,
    Endpoint::UpdatePlacement,
    Endpoint::DeletePlacement,
];
const AFTER_DEGREE: &[Endpoint] = &[
    Endpoint::ShowDegree,
    Endpoint::UpdateDegree,
    Endpoint::DeleteDegree,
];
