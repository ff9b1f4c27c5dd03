//! The routes: access, handlers, and the context of a handler.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;
use storage::accounts::uploads::Uploader;
use storage::accounts::users::{Actor, SignedIn};
use storage::session::{Provider, ProviderSession, Session};

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::signing_in::openid;
use crate::state::Audience;

#[derive(Debug)]
pub struct Route {
    /// `GET` routes change nothing, except the callback of the OpenID Connect issuer, which signs
    /// the user in ([`crate::signing_in::openid`]).
    pub method: Method,
    /// The pattern below `/settings`.
    pub path: &'static str,
    pub(crate) handler: Handler,
    /// In bytes.
    pub(crate) max_form_bytes: usize,
    /// In bytes; 0 for a form without a file.
    pub(crate) max_file_bytes: usize,
}

/// The users that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Public,
    SignedIn,
    Organisation,
    Admin,
    /// Admins and editors of an organisation.
    Uploader,
    Operator,
}

impl Access {
    pub(crate) fn is_for(self, audience: Audience) -> bool {
        match self {
            Self::Public | Self::SignedIn => true,
            Self::Organisation | Self::Admin | Self::Uploader => audience.includes(false),
            Self::Operator => audience.includes(true),
        }
    }
}

/// Runs in a job of the store, which is a write for `POST`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Handler {
    Public(fn(&mut Session<'_>, &PageRequest) -> Result<Reply, PageError>),
    SignedIn(fn(&mut Session<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Organisation(
        fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>,
    ),
    /// Reads data of the user's organisation, through a session limited to that organisation.
    Own(fn(&mut ProviderSession<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Admin(fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>),
    Uploader(fn(&mut Session<'_>, &PageRequest, &UploaderContext<'_>) -> Result<Reply, PageError>),
    Operator(fn(&mut Session<'_>, &PageRequest, &OperatorContext<'_>) -> Result<Reply, PageError>),
    /// For an operator and the organisation in the path, like the next variant.
    OperatorOrganisation(
        fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>,
    ),
    OperatorAdmin(
        fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>,
    ),
}

/// An admin of an organisation, or an operator who changes it. The actor is limited to the
/// organisation.
pub(crate) struct AdminContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) organisation: &'a Provider,
    pub(crate) actor: Actor<'a>,
}

impl AdminContext<'_> {
    pub(crate) fn build_frame(&self, request: &PageRequest, place: SettingsSection) -> Frame {
        Frame::with_organisation(request, self.signed_in, self.organisation, place)
    }

    /// Returns the UKPRN if the user is an operator, and `None` for an admin of the organisation.
    pub(crate) fn ukprn_of_other(&self) -> Option<String> {
        self.signed_in
            .organisation
            .is_none()
            .then(|| self.organisation.ukprn.clone())
    }
}

pub(crate) struct UploaderContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) organisation: &'a Provider,
    pub(crate) uploader: Uploader,
}

pub(crate) struct OperatorContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) actor: Actor<'a>,
}

impl Route {
    #[must_use]
    pub fn access(&self) -> Access {
        match self.handler {
            Handler::Public(_) => Access::Public,
            Handler::SignedIn(_) => Access::SignedIn,
            Handler::Organisation(_) | Handler::Own(_) => Access::Organisation,
            Handler::Admin(_) => Access::Admin,
            Handler::Uploader(_) => Access::Uploader,
            Handler::Operator(_) | Handler::OperatorOrganisation(_) | Handler::OperatorAdmin(_) => {
                Access::Operator
            }
        }
    }

    pub(crate) fn has_form(&self) -> bool {
        self.method == Method::Post
    }

    pub(crate) fn takes(&self, method: &HttpMethod) -> bool {
        // The callback of the issuer signs a user in, which `HEAD` must not do.
        method != HttpMethod::HEAD || self.path != openid::CALLBACK
    }
}
