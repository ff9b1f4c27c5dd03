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

/// A route: method, path and handler.
#[derive(Debug)]
pub struct Route {
    /// The method, `GET` or `POST`. `GET` routes change nothing, except the callback of the OpenID
    /// Connect issuer, which signs the user in ([`crate::signing_in::openid`]).
    pub method: Method,
    /// The pattern of the path below `/settings`.
    pub path: &'static str,
    pub(crate) handler: Handler,
    /// The largest form, in bytes.
    pub(crate) max_form_bytes: usize,
    /// The largest file of the form, in bytes; 0 for a form without a file.
    pub(crate) max_file_bytes: usize,
}

/// The users that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// All visitors.
    Public,
    /// All signed-in users.
    SignedIn,
    /// The users of an organisation.
    Organisation,
    /// The admins of an organisation.
    Admin,
    /// The admins and editors of an organisation.
    Uploader,
    /// The operators of the service.
    Operator,
}

impl Access {
    /// Whether a listener with this audience has the route.
    pub(crate) fn is_for(self, audience: Audience) -> bool {
        match self {
            Self::Public | Self::SignedIn => true,
            Self::Organisation | Self::Admin | Self::Uploader => audience.includes(false),
            Self::Operator => audience.includes(true),
        }
    }
}

/// The handler of a route. Runs in a job of the store, which is a write for `POST`.
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
    /// Like [`Handler::Organisation`] and [`Handler::Admin`], but for an operator and the
    /// organisation in the path.
    OperatorOrganisation(
        fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>,
    ),
    OperatorAdmin(
        fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>,
    ),
}

/// The context of changes to the settings of an organisation, by its admin or by an operator. The
/// actor is limited to the organisation.
pub(crate) struct AdminContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) organisation: &'a Provider,
    pub(crate) actor: Actor<'a>,
}

impl AdminContext<'_> {
    /// The frame of a page of the organisation.
    pub(crate) fn frame(&self, request: &PageRequest, place: SettingsSection) -> Frame {
        Frame::with_organisation(request, self.signed_in, self.organisation, place)
    }

    /// The UKPRN of the organisation if the user is an operator; `None` for an admin of the
    /// organisation.
    pub(crate) fn ukprn_of_other(&self) -> Option<String> {
        self.signed_in
            .organisation
            .is_none()
            .then(|| self.organisation.ukprn.clone())
    }
}

/// The context of an admin or an editor who uploads trainees.
pub(crate) struct UploaderContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) organisation: &'a Provider,
    pub(crate) uploader: Uploader,
}

/// The context of an operator, with access to all organisations.
pub(crate) struct OperatorContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) actor: Actor<'a>,
}

impl Route {
    /// The users that may use the handler.
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

    /// Whether the handler reads a form.
    pub(crate) fn has_form(&self) -> bool {
        self.method == Method::Post
    }

    /// Whether the route accepts the HTTP method. The callback of the issuer does not accept `HEAD`,
    /// which must not sign a user in.
    pub(crate) fn takes(&self, method: &HttpMethod) -> bool {
        method != HttpMethod::HEAD || self.path != openid::CALLBACK
    }
}
