//! The table of routes: what there is below `/settings`, and who may use it.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;
use storage::session::{Provider, ProviderSession, Session};
use storage::users::{Actor, SignedIn};

use super::openid::{self, Step};
use super::page::{PageError, Reply};
use super::receive::PageRequest;
use super::{activity, overview, people, readiness, requests, sessions, sign_in, tokens, usage, versions};

/// A path with a method.
#[derive(Debug)]
pub struct Route {
    /// `GET` or `POST`; what is `GET` changes nothing, except that the answer of an issuer signs in ([`openid`]).
    pub method: Method,
    /// The pattern of the path, below `/settings`.
    pub path: &'static str,
    pub(super) handler: Handler,
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
}

/// An admin of an organisation.
pub(super) struct AdminContext<'a> {
    pub(super) signed_in: &'a SignedIn,
    pub(super) organisation: &'a Provider,
    pub(super) actor: Actor<'a>,
}

/// An operator of the service, who reaches the things of all organisations.
pub(super) struct OperatorContext<'a> {
    pub(super) signed_in: &'a SignedIn,
    #[expect(dead_code, reason = "no page of an operator changes anything yet")]
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
            Handler::Operator(_) => Access::Operator,
        }
    }

    /// Whether it takes a method of HTTP. A `HEAD` must not use up what a `GET` does.
    pub(super) fn takes(&self, method: &HttpMethod) -> bool {
        !(method == HttpMethod::HEAD && matches!(self.handler, Handler::OpenId(_)))
    }
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::Get, path, handler }
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::Post, path, handler }
}

/// All routes. Those of one path stand together.
pub static ROUTES: &[Route] = &[
    get("", Handler::SignedIn(overview::show)),
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
    get("/organisations", Handler::Operator(overview::organisations)),
    get("/versions", Handler::Operator(versions::show)),
    get("/activity", Handler::SignedIn(activity::list)),
];
