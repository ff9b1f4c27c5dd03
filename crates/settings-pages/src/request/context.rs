//! Who may use a route, what answers it, and what that needs to know of who asks.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;
use storage::accounts::users::{Actor, SignedIn};
use storage::session::{Provider, ProviderSession, Session};

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::signing_in::openid::Step;
use crate::state::Audience;

/// A path with a method.
#[derive(Debug)]
pub struct Route {
    /// `GET` or `POST`; what is `GET` changes nothing, except that the answer of an issuer signs in
    /// ([`crate::signing_in::openid`]).
    pub method: Method,
    /// The pattern of the path, below `/settings`.
    pub path: &'static str,
    pub(crate) handler: Handler,
    /// The largest form, in bytes.
    pub(crate) max_form_bytes: usize,
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Public,
    /// Whoever is signed in.
    SignedIn,
    /// The users of an organisation.
    Organisation,
    /// The admins of an organisation.
    Admin,
    /// The operators of the service.
    Operator,
}

impl Access {
    /// Whether a route is there for these people.
    pub(crate) fn is_for(self, audience: Audience) -> bool {
        match self {
            Self::Public | Self::SignedIn => true,
            Self::Organisation | Self::Admin => audience.includes(false),
            Self::Operator => audience.includes(true),
        }
    }
}

/// What answers a route, with what it needs to know of who asks. It runs in a job of the store,
/// which writes where the method is `POST`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Handler {
    Public(fn(&mut Session<'_>, &PageRequest) -> Result<Reply, PageError>),
    /// Is for everybody, and no single job: between two of them the issuer is fetched.
    OpenId(Step),
    SignedIn(fn(&mut Session<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Organisation(
        fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>,
    ),
    /// Reads what belongs to the organisation through a session that leads to nothing of another
    /// one.
    Own(fn(&mut ProviderSession<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Admin(fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>),
    Operator(fn(&mut Session<'_>, &PageRequest, &OperatorContext<'_>) -> Result<Reply, PageError>),
    /// As [`Handler::Organisation`] and [`Handler::Admin`], for an operator, with the organisation
    /// of the path.
    OperatorOrganisation(
        fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>,
    ),
    OperatorAdmin(
        fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>,
    ),
}

/// Whoever changes the settings of an organisation: an admin of it, or an operator. The actor
/// reaches nothing of another one.
pub(crate) struct AdminContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) organisation: &'a Provider,
    pub(crate) actor: Actor<'a>,
}

impl AdminContext<'_> {
    /// What stands around a page of the organisation.
    pub(crate) fn frame(&self, request: &PageRequest, place: SettingsSection) -> Frame {
        Frame::with_organisation(request, self.signed_in, self.organisation, place)
    }

    /// The UKPRN of the organisation, where it is not one's own.
    pub(crate) fn ukprn_of_other(&self) -> Option<String> {
        self.signed_in
            .organisation
            .is_none()
            .then(|| self.organisation.ukprn.clone())
    }
}

/// An operator of the service, who reaches the things of all organisations.
pub(crate) struct OperatorContext<'a> {
    pub(crate) signed_in: &'a SignedIn,
    pub(crate) actor: Actor<'a>,
}

impl Route {
    /// Who may use it.
    #[must_use]
    pub fn access(&self) -> Access {
        match self.handler {
            Handler::Public(_) | Handler::OpenId(_) => Access::Public,
            Handler::SignedIn(_) => Access::SignedIn,
            Handler::Organisation(_) | Handler::Own(_) => Access::Organisation,
            Handler::Admin(_) => Access::Admin,
            Handler::Operator(_) | Handler::OperatorOrganisation(_) | Handler::OperatorAdmin(_) => {
                Access::Operator
            }
        }
    }

    /// Whether it reads a form.
    pub(crate) fn has_form(&self) -> bool {
        self.method == Method::Post
    }

    /// Whether it takes a method of HTTP. A `HEAD` must not use up what a `GET` does.
    pub(crate) fn takes(&self, method: &HttpMethod) -> bool {
        !(method == HttpMethod::HEAD && matches!(self.handler, Handler::OpenId(_)))
    }
}
