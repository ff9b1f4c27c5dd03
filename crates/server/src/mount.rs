//! Mounts one scope for each version, with the routes that follow from its endpoints.

use std::collections::BTreeMap;

use actix_web::http::Method as HttpMethod;
use actix_web::http::header::{ALLOW, LINK};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Deprecation, Endpoint, Method, Served};
use chrono::NaiveTime;
use storage::error::StorageError;
use storage::session::Session;
use storage::store::Store;
use storage::tokens::TokenDigest;

use crate::call::{Call, VALIDATE_ONLY};
use crate::docs;
use crate::failure::{ErrorForm, Failure, Missing};
use crate::operations::{self, Operation};
use crate::register::Register;
use crate::reply::Reply;
use crate::versions::REMOVED;

/// Mounts everything that the register answers.
pub fn mount(config: &mut ServiceConfig, register: &Register) {
    for served in register.versions.iter() {
        let scope = web::scope(&format!("/api/{}", served.version.label));
        config.service(
            paths(served)
                .into_iter()
                .fold(scope, |scope, (path, endpoints)| scope.service(resource(register, served, path, &endpoints))),
        );
    }
    for label in REMOVED {
        let labels: Vec<_> = register.versions.iter().map(|served| served.version.label).collect();
        let gone = move || {
            let failure = Failure::Gone { label: *label, served: labels.clone() };
            std::future::ready(HttpResponse::from(failure.reply_to_anyone()))
        };
        let scope = web::scope(&format!("/api/{label}")).default_service(web::to(gone));
        config.service(scope);
    }
    docs::mount(config, register);
    config.default_service(web::to(|| std::future::ready(not_found())));
}

/// The paths of a version, each with what it is asked.
fn paths(served: &Served) -> BTreeMap<&'static str, Vec<(Endpoint, Operation)>> {
    let mut paths: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for endpoint in served.version.endpoints.all() {
        paths.entry(endpoint.path()).or_default().push((endpoint, operations::of(endpoint)));
    }
    paths
}

/// The routes of one path. What it is not asked is answered with what it can be asked.
fn resource(
    register: &Register,
    served: &'static Served,
    path: &str,
    endpoints: &[(Endpoint, Operation)],
) -> actix_web::Resource {
    let mut resource = web::resource(path);
    let mut allowed = Vec::new();
    for (endpoint, operation) in endpoints {
        for method in methods(endpoint.method()) {
            let (register, endpoint, operation) = (register.clone(), *endpoint, *operation);
            let handler = move |request: HttpRequest, payload: Payload| {
                answer(register.clone(), served, endpoint, operation, request, payload)
            };
            resource = resource.route(web::method(method.clone()).to(handler));
            allowed.push(method.to_string());
        }
    }
    allowed.push(HttpMethod::OPTIONS.to_string());
    let allow = allowed.join(", ");
    let options = allow.clone();
    resource
        .route(
            web::method(HttpMethod::OPTIONS).to(move || {
                std::future::ready(HttpResponse::NoContent().insert_header((ALLOW, options.clone())).finish())
            }),
        )
        .default_service(web::to(move || {
            let failure = Failure::MethodNotAllowed { allow: allow.clone() };
            std::future::ready(HttpResponse::from(failure.reply_to_anyone()))
        }))
}

fn methods(method: Method) -> Vec<HttpMethod> {
    match method {
        Method::Get => vec![HttpMethod::GET, HttpMethod::HEAD],
        Method::Post => vec![HttpMethod::POST],
        Method::PutOrPatch => vec![HttpMethod::PUT, HttpMethod::PATCH],
        Method::Delete => vec![HttpMethod::DELETE],
    }
}

/// Answers one request: takes it apart, makes the one hop to the store, and sends what comes back.
async fn answer(
    register: Register,
    served: &'static Served,
    endpoint: Endpoint,
    operation: Operation,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let lists = register.lists;
    let mut validates_only = false;
    let form = ErrorForm::asked_for(request.headers(), endpoint);
    let reply = match Call::take(&request, payload, served, lists, register.environment).await {
        Ok(call) => {
            validates_only = operation.writes && call.validates_only();
            hop(&register, operation, call).await
        }
        Err(failure) => Err(failure),
    };
    let reply = reply.unwrap_or_else(|failure| failure.reply(served.version, lists, form));
    let reply = if validates_only { reply.with("preference-applied", VALIDATE_ONLY) } else { reply };
    match served.version.endpoints.deprecation(endpoint) {
        Some(deprecation) => deprecated(reply, deprecation, request.path()).into(),
        None => reply.into(),
    }
}

/// Says since when the endpoint should no longer be used (RFC 9745), and what to use instead.
fn deprecated(reply: Reply, deprecation: &Deprecation, path: &str) -> Reply {
    let since = deprecation.since.and_time(NaiveTime::MIN).and_utc().timestamp();
    let last = |path: &str| path.rsplit_once('/').map(|(parent, last)| (parent.to_owned(), last.to_owned()));
    let successor = last(path).zip(last(deprecation.replaced_by.path())).map(|((parent, _), (_, new))| (parent, new));
    let reply = reply.with("deprecation", format!("@{since}"));
    match successor {
        Some((parent, new)) => reply.with(LINK.as_str(), format!("<{parent}/{new}>; rel=\"successor-version\"")),
        None => reply,
    }
}

async fn hop(register: &Register, operation: Operation, call: Call) -> Result<Reply, Failure> {
    let token = call.token.clone();
    // What is only tried out must not write, and runs where nothing can.
    let writes = operation.writes && !call.validates_only();
    let job = move |session: &mut Session<'_>| {
        let mut session = session.authenticate(&call.token)?.ok_or(Failure::Unauthorized)?;
        if writes {
            session.record_token_use()?;
        }
        let use_is_due = !session.token_use_is_recorded();
        Ok::<_, Failure>(((operation.run)(&mut session, call)?, use_is_due))
    };
    let (reply, use_is_due) = if writes { register.store.write(job).await? } else { register.store.read(job).await? };
    if use_is_due {
        actix_web::rt::spawn(record_token_use(register.store.clone(), token));
    }
    Ok(reply)
}

/// Records that a token was used today; once a day, after a request that only reads. The client does not wait for it.
async fn record_token_use(store: Store, token: TokenDigest) {
    let recorded = store.write(move |session| match session.authenticate(&token)? {
        Some(mut session) => session.record_token_use(),
        None => Ok(()),
    });
    if let Err(error) = recorded.await {
        let error: StorageError = error;
        log::warn!("the use of a token was not recorded: {error}");
    }
}

fn not_found() -> HttpResponse {
    Failure::NotFound(Missing::Path).reply_to_anyone().into()
}
