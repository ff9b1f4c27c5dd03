//! The endpoints that a version can have (contract, section 4), one row each.
//!
//! The OpenAPI document, the translation of bodies, shadow checks and tests follow from the row. The handler is the
//! server's.

use std::fmt;

use serde::ser::{Serialize, Serializer};

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
}

impl Tag {
    /// All tags with their names and meanings, in order.
    pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Trainees, "trainees", "People who train to teach, as one provider registers them"),
        (Self::Placements, "placements", "Periods of school experience"),
        (Self::Degrees, "degrees", "Degrees held before the training"),
        (Self::Transitions, "transitions", "Steps in the life of a trainee's record"),
        (Self::Service, "service", "The service itself"),
    ];
}

/// What the body of a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBody {
    /// The record.
    pub record: RecordKind,
    /// Whether the record is created or changed; `None` for a transition of the trainee.
    pub purpose: Option<Purpose>,
}

const fn create(record: RecordKind) -> RequestBody {
    RequestBody { record, purpose: Some(Purpose::Create) }
}

const fn update(record: RecordKind) -> RequestBody {
    RequestBody { record, purpose: Some(Purpose::Update) }
}

const fn transition(record: RecordKind) -> RequestBody {
    RequestBody { record, purpose: None }
}

/// What the reply to a successful request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after what it shows")]
pub enum ReplyBody {
    ServiceStatus,
    Trainee,
    TraineePage,
    Placement,
    Placements,
    Degree,
    Degrees,
    CodeLists,
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
    /// The names that a query can have.
    pub query_parameters: &'static [&'static str],
    /// Endpoints for the record that was created, or the trainee that was changed.
    pub next: &'static [Endpoint],
    /// The endpoint that takes its place in later versions.
    pub replaced_by: Option<Endpoint>,
    /// Whether accepted requests are checked against the newest version.
    pub shadow_checked: bool,
}

impl Row {
    const fn get(tag: Tag, path: &'static str, reply: ReplyBody, description: &'static str) -> Self {
        let (method, status) = (Method::Get, 200);
        let (query_parameters, next) = (&[], &[]);
        let (request, replaced_by) = (None, None);
        let shadow_checked = false;
        Self {
            path,
            method,
            tag,
            request,
            status,
            reply,
            description,
            query_parameters,
            next,
            replaced_by,
            shadow_checked,
        }
    }

    const fn post(
        tag: Tag,
        path: &'static str,
        request: RequestBody,
        status: u16,
        reply: ReplyBody,
        description: &'static str,
    ) -> Self {
        let read = Self::get(tag, path, reply, description);
        Self { method: Method::Post, request: Some(request), status, shadow_checked: true, ..read }
    }

    const fn change(
        tag: Tag,
        path: &'static str,
        record: RecordKind,
        reply: ReplyBody,
        description: &'static str,
    ) -> Self {
        Self { method: Method::PutOrPatch, ..Self::post(tag, path, update(record), 200, reply, description) }
    }

    const fn delete(tag: Tag, path: &'static str, description: &'static str) -> Self {
        let read = Self::get(tag, path, ReplyBody::Trainee, description);
        Self { method: Method::Delete, next: &[Endpoint::ShowTrainee], shadow_checked: true, ..read }
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
            ReplyBody::Trainee | ReplyBody::Placement | ReplyBody::Degree | ReplyBody::CodeLists => true,
            ReplyBody::ServiceStatus | ReplyBody::TraineePage | ReplyBody::Placements | ReplyBody::Degrees => false,
        }
    }

    /// Whether a request can state the version of the record that it is for: whatever changes an existing record.
    #[must_use]
    pub fn takes_if_match(&self) -> bool {
        self.writes() && self.request != Some(create(RecordKind::Trainee))
    }

    /// Whether problems can be requested by field.
    #[must_use]
    pub fn has_errors_by_field(&self) -> bool {
        self.request.is_some_and(|request| request.record == RecordKind::Trainee)
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

    /// The endpoint that takes its place in the versions of which `has` says whether they have one.
    #[must_use]
    pub fn replacement(self, has: impl Fn(Self) -> bool) -> Option<Self> {
        let replaces = |other: &&Self| other.row().replaced_by == Some(self);
        let older = Self::ALL.iter().find(replaces).copied();
        self.row().replaced_by.into_iter().chain(older).find(|other| has(*other))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method(), self.path())
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

endpoints! {
    /// Tells that the service is alive.
    Info = Row::get(Tag::Service, "/info", ReplyBody::ServiceStatus, "The service is alive."),
    /// Lists the trainees of one academic cycle.
    ListTrainees = Row {
        query_parameters: &["academic_cycle", "status", "since", "has_trn", "page", "per_page", "sort_order"],
        ..Row::get(Tag::Trainees, "/trainees", ReplyBody::TraineePage, "A page of trainees.")
    },
    /// Registers a trainee.
    CreateTrainee = Row {
        next: &[
            Endpoint::ShowTrainee,
            Endpoint::UpdateTrainee,
            Endpoint::ListPlacements,
            Endpoint::CreatePlacement,
            Endpoint::CreateDegree,
            Endpoint::Defer,
        ],
        ..Row::post(
            Tag::Trainees,
            "/trainees",
            create(RecordKind::Trainee),
            201,
            ReplyBody::Trainee,
            "The trainee is registered.",
        )
    },
    /// Reads a trainee.
    ShowTrainee = Row::get(Tag::Trainees, "/trainees/{trainee_id}", ReplyBody::Trainee, "The trainee."),
    /// Changes a trainee.
    UpdateTrainee = Row::change(
        Tag::Trainees,
        "/trainees/{trainee_id}",
        RecordKind::Trainee,
        ReplyBody::Trainee,
        "The trainee as changed.",
    ),
    /// Lists the placements of a trainee.
    ListPlacements =
        Row::get(Tag::Placements, "/trainees/{trainee_id}/placements", ReplyBody::Placements, "The placements, oldest first."),
    /// Adds a placement.
    CreatePlacement = Row {
        next: &[Endpoint::ShowPlacement, Endpoint::UpdatePlacement, Endpoint::DeletePlacement],
        ..Row::post(
            Tag::Placements,
            "/trainees/{trainee_id}/placements",
            create(RecordKind::Placement),
            201,
            ReplyBody::Placement,
            "The placement is added.",
        )
    },
    /// Reads a placement.
    ShowPlacement =
        Row::get(Tag::Placements, "/trainees/{trainee_id}/placements/{placement_id}", ReplyBody::Placement, "The placement."),
    /// Changes a placement.
    UpdatePlacement = Row::change(
        Tag::Placements,
        "/trainees/{trainee_id}/placements/{placement_id}",
        RecordKind::Placement,
        ReplyBody::Placement,
        "The placement as changed.",
    ),
    /// Removes a placement.
    DeletePlacement = Row::delete(
        Tag::Placements,
        "/trainees/{trainee_id}/placements/{placement_id}",
        "The trainee without the placement.",
    ),
    /// Lists the degrees of a trainee.
    ListDegrees =
        Row::get(Tag::Degrees, "/trainees/{trainee_id}/degrees", ReplyBody::Degrees, "The degrees, by year of graduation."),
    /// Adds a degree.
    CreateDegree = Row {
        next: &[Endpoint::ShowDegree, Endpoint::UpdateDegree, Endpoint::DeleteDegree],
        ..Row::post(
            Tag::Degrees,
            "/trainees/{trainee_id}/degrees",
            create(RecordKind::Degree),
            201,
            ReplyBody::Degrees,
            "The degree is added; it is the only one in the list.",
        )
    },
    /// Reads a degree.
    ShowDegree = Row::get(Tag::Degrees, "/trainees/{trainee_id}/degrees/{degree_id}", ReplyBody::Degree, "The degree."),
    /// Changes a degree.
    UpdateDegree = Row::change(
        Tag::Degrees,
        "/trainees/{trainee_id}/degrees/{degree_id}",
        RecordKind::Degree,
        ReplyBody::Degree,
        "The degree as changed.",
    ),
    /// Removes a degree.
    DeleteDegree =
        Row::delete(Tag::Degrees, "/trainees/{trainee_id}/degrees/{degree_id}", "The trainee without the degree."),
    /// Defers a trainee.
    Defer = Row::post(
        Tag::Transitions,
        "/trainees/{trainee_id}/defer",
        transition(RecordKind::Deferral),
        200,
        ReplyBody::Trainee,
        "The trainee is deferred.",
    ),
    /// Withdraws a trainee.
    Withdraw = Row::post(
        Tag::Transitions,
        "/trainees/{trainee_id}/withdraw",
        transition(RecordKind::Withdrawal),
        200,
        ReplyBody::Trainee,
        "The trainee is withdrawn.",
    ),
    /// Recommends a trainee for the award, by the older name.
    RecommendForQts = Row {
        path: "/trainees/{trainee_id}/recommend-for-qts",
        replaced_by: Some(Endpoint::UpdateQtsOrEytsStatus),
        ..RECOMMENDATION
    },
    /// Recommends a trainee for the award.
    UpdateQtsOrEytsStatus = RECOMMENDATION,
    /// Publishes the code lists.
    ReferenceData = Row {
        query_parameters: &["field"],
        ..Row::get(
            Tag::Service,
            "/reference-data",
            ReplyBody::CodeLists,
            "All code lists by name, or the one that was asked for.",
        )
    },
}

const RECOMMENDATION: Row = Row::post(
    Tag::Transitions,
    "/trainees/{trainee_id}/update-qts-or-eyts-status",
    transition(RecordKind::Recommendation),
    202,
    ReplyBody::Trainee,
    "The trainee is recommended for the award.",
);
