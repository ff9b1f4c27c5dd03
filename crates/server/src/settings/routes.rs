//! The table of routes: what there is below `/settings`, and who may use it.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;
use storage::session::{Provider, ProviderSession, Session};
use storage::users::{Actor, SignedIn};

use super::openid::{self, Step};
use super::page::{Frame, PageError, Place, Reply};
use super::receive::PageRequest;
use super::{
    activity, history, imports, organisations, overview, people, readiness, registry_actions, registry_file,
    registry_queue, requests, sessions, sign_in, tokens, usage, versions,
};

/// A path with a method.
#[derive(Debug)]
pub struct Route {
    /// `GET` or `POST`; what is `GET` changes nothing, except that the answer of an issuer signs in ([`openid`]).
    pub method: Method,
    /// The pattern of the path, below `/settings`.
    pub path: &'static str,
    pub(super) handler: Handler,
    /// The largest form, in bytes.
    pub(super) max_form_bytes: usize,
}

/// The largest form, in bytes, except where a file is pasted into one.
const MAX_FORM_BYTES: usize = 16_384;

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

/// What answers a route, with what it needs to know of who asks. It runs in a job of the store, which writes where the method
/// is `POST`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handler {
    Public(fn(&mut Session<'_>, &PageRequest) -> Result<Reply, PageError>),
    /// Is for everybody, and no single job: between two of them the issuer is fetched.
    OpenId(Step),
    SignedIn(fn(&mut Session<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Organisation(fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>),
    /// Reads what belongs to the organisation through a session that leads to nothing of another one.
    Own(fn(&mut ProviderSession<'_>, &PageRequest, &SignedIn) -> Result<Reply, PageError>),
    Admin(fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>),
    Operator(fn(&mut Session<'_>, &PageRequest, &OperatorContext<'_>) -> Result<Reply, PageError>),
    /// As [`Handler::Organisation`] and [`Handler::Admin`], for an operator, with the organisation of the path.
    OperatorOrganisation(fn(&mut Session<'_>, &PageRequest, &SignedIn, &Provider) -> Result<Reply, PageError>),
    OperatorAdmin(fn(&mut Session<'_>, &PageRequest, &AdminContext<'_>) -> Result<Reply, PageError>),
}

/// Whoever changes the settings of an organisation: an admin of it, or an operator. The actor reaches nothing of another one.
pub(super) struct AdminContext<'a> {
    pub(super) signed_in: &'a SignedIn,
    pub(super) organisation: &'a Provider,
    pub(super) actor: Actor<'a>,
}

impl AdminContext<'_> {
    /// What stands around a page of the organisation.
    pub(super) fn frame(&self, request: &PageRequest, place: Place) -> Frame {
        Frame::within(request, self.signed_in, self.organisation, place)
    }

    /// The UKPRN of the organisation, where it is not one's own.
    pub(super) fn ukprn_of_other(&self) -> Option<String> {
        self.signed_in.organisation.is_none().then(|| self.organisation.ukprn.clone())
    }
}

/// An operator of the service, who reaches the things of all organisations.
pub(super) struct OperatorContext<'a> {
    pub(super) signed_in: &'a SignedIn,
    pub(super) actor: Actor<'a>,
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
            Handler::Operator(_) | Handler::OperatorOrganisation(_) | Handler::OperatorAdmin(_) => Access::Operator,
        }
    }

    /// Whether it takes a method of HTTP. A `HEAD` must not use up what a `GET` does.
    pub(super) fn takes(&self, method: &HttpMethod) -> bool {
        !(method == HttpMethod::HEAD && matches!(self.handler, Handler::OpenId(_)))
    }
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::Get, path, handler, max_form_bytes: 0 }
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::Post, path, handler, max_form_bytes: MAX_FORM_BYTES }
}

/// A form into which a file is pasted.
const fn post_file(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::Post, path, handler, max_form_bytes: registry_file::MAX_FORM_BYTES }
}

/// All routes. Those of one path stand together.
pub static ROUTES: &[Route] = &[
    get("", Handler::SignedIn(overview::show)),
    get("/", Handler::Public(overview::drop_slash)),
    get("/sign-in", Handler::Public(sign_in::explain)),
    post("/sign-in", Handler::Public(sign_in::accept)),
    post("/sign-in/oidc", Handler::OpenId(Step::Begin)),
    get(openid::CALLBACK, Handler::OpenId(Step::Callback)),
    post("/sign-in/oidc/organisation", Handler::OpenId(Step::Choose)),
    get("/sign-in/{secret}", Handler::Public(sign_in::show_link)),
    post("/sign-out", Handler::SignedIn(sign_in::sign_out)),
    post("/sign-out-everywhere", Handler::SignedIn(sign_in::sign_out_everywhere)),
    get("/sessions", Handler::SignedIn(sessions::list)),
    post("/sessions/{id}/end", Handler::SignedIn(sessions::end)),
    get("/tokens", Handler::Organisation(tokens::list)),
    post("/tokens", Handler::Admin(tokens::issue)),
    get("/tokens/{id}/rotate", Handler::Admin(tokens::ask_to_rotate)),
    post("/tokens/{id}/rotate", Handler::Admin(tokens::rotate)),
    get("/tokens/{id}/revoke", Handler::Admin(tokens::ask_to_revoke)),
    post("/tokens/{id}/revoke", Handler::Admin(tokens::revoke)),
    get("/requests", Handler::Own(requests::list)),
    get("/usage", Handler::Own(usage::show)),
    get("/usage.csv", Handler::Own(usage::download)),
    get("/readiness", Handler::Own(readiness::show)),
    get("/people", Handler::Organisation(people::list)),
    post("/people", Handler::Admin(people::invite)),
    get("/people/{id}", Handler::Admin(people::show)),
    post("/people/{id}/role", Handler::Admin(people::change_role)),
    post("/people/{id}/sign-out", Handler::Admin(sessions::sign_out_person)),
    post("/people/{id}/remove", Handler::Admin(people::remove)),
    get("/organisations", Handler::Operator(organisations::list)),
    get("/organisations/add", Handler::Operator(organisations::ask_to_add)),
    post("/organisations/add", Handler::Operator(organisations::add)),
    get("/organisations/{ukprn}", Handler::OperatorAdmin(organisations::show)),
    post("/organisations/{ukprn}/rename", Handler::OperatorAdmin(organisations::rename)),
    get("/organisations/{ukprn}/close", Handler::OperatorAdmin(organisations::ask_to_close)),
    post("/organisations/{ukprn}/close", Handler::OperatorAdmin(organisations::close)),
    post("/organisations/{ukprn}/reopen", Handler::OperatorAdmin(organisations::reopen)),
    get("/organisations/{ukprn}/tokens", Handler::OperatorOrganisation(tokens::list)),
    post("/organisations/{ukprn}/tokens", Handler::OperatorAdmin(tokens::issue)),
    get("/organisations/{ukprn}/tokens/{id}/rotate", Handler::OperatorAdmin(tokens::ask_to_rotate)),
    post("/organisations/{ukprn}/tokens/{id}/rotate", Handler::OperatorAdmin(tokens::rotate)),
    get("/organisations/{ukprn}/tokens/{id}/revoke", Handler::OperatorAdmin(tokens::ask_to_revoke)),
    post("/organisations/{ukprn}/tokens/{id}/revoke", Handler::OperatorAdmin(tokens::revoke)),
    get("/organisations/{ukprn}/people", Handler::OperatorOrganisation(people::list)),
    post("/organisations/{ukprn}/people", Handler::OperatorAdmin(people::invite)),
    get("/organisations/{ukprn}/people/{id}", Handler::OperatorAdmin(people::show)),
    post("/organisations/{ukprn}/people/{id}/role", Handler::OperatorAdmin(people::change_role)),
    post("/organisations/{ukprn}/people/{id}/sign-out", Handler::OperatorAdmin(sessions::sign_out_person)),
    post("/organisations/{ukprn}/people/{id}/remove", Handler::OperatorAdmin(people::remove)),
    get("/registry", Handler::Operator(registry_queue::list)),
    get("/registry/trainee", Handler::Operator(registry_actions::ask)),
    post("/registry/trainee", Handler::Operator(registry_actions::act)),
    get("/registry/file", Handler::Operator(registry_file::ask)),
    post_file("/registry/file", Handler::Operator(registry_file::act)),
    get("/history", Handler::Operator(history::ask)),
    post("/history", Handler::Operator(history::show)),
    get("/imports", Handler::Operator(imports::list)),
    get("/imports/{id}", Handler::Operator(imports::show)),
    get("/versions", Handler::Operator(versions::show)),
    get("/activity", Handler::SignedIn(activity::list)),
];
