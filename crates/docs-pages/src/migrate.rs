//! `/docs/migrate`: a page that translates a body from one version to another. A GET shows a form
//! with an example, and a POST shows the result. Bodies are neither logged nor stored.

use actix_web::http::header::HeaderName;
use actix_web::http::{Method as HttpMethod, StatusCode};
use actix_web::web::{self, Payload};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::body_kind::{Direction, Purpose};
use adapter_kit::read::client_text::truncated;
use adapter_kit::{Label, Versions};
use askama::Template;
use domain::{Code, Lists};
use gateway::error::{ApiError, page};
use gateway::routes::closed;
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::requests::body::BodyError;
use http_kit::requests::methods::methods;
use http_kit::responses::page::Keep;
use serde_json::Value;
use version_tools::translate::{BodyKind, Translation, TranslationContext, translate};
use versions::REMOVED;

use crate::page_location::{DocsLocation, html};

mod endpoints;
mod example;
mod form;
mod marked;

use endpoints::Change;
use form::{Choice, Form, FormField, MAX_FORM_BYTES, TranslationRequest};
use marked::Marked;

/// Maximum number of rows in a table or list of findings.
const MAX_ROWS: usize = 200;

#[derive(Template)]
#[template(path = "pages/migrate.html")]
struct Migrate {
    place: DocsLocation,
    form: Form,
    from: Vec<Choice>,
    to: Vec<Choice>,
    kinds: Vec<Choice>,
    /// The selected source version, if it is no longer served.
    removed: Option<Label>,
    served: Vec<String>,
    endpoints: Option<Endpoints>,
    outcome: Option<Outcome>,
    /// The version of the example in the form.
    example_of: Option<Label>,
}

struct Endpoints {
    from: Label,
    to: Label,
    changes: Vec<Change>,
}

/// The result of a translation.
struct Outcome {
    from: Label,
    to: Label,
    taken_for: Option<String>,
    old: Marked,
    new: Marked,
    plain: String,
    renames: Rows<Renamed>,
    lost: Rows<Lost>,
    problems: Rows<Problem>,
    notices: Rows<Noticed>,
}

/// The first rows of findings, and the total number.
struct Rows<T> {
    rows: Vec<T>,
    count: usize,
}

struct Renamed {
    path: String,
    from: String,
    to: &'static str,
}

struct Lost {
    path: String,
    value: String,
    why: String,
}

struct Problem {
    field: String,
    message: String,
    code: String,
    remedy: &'static str,
}

struct Noticed {
    path: String,
    message: String,
}

/// Returns the resource.
pub(super) fn resource(state: &GatewayState, translations: &ConcurrencyLimit) -> Resource {
    let state = state.clone();
    let translations = translations.clone();
    let versions = state.versions;
    let lists = state.lists;
    let show = move |request: HttpRequest| {
        let form = Form::read(request.query_string().as_bytes());
        std::future::ready(page(
            StatusCode::OK,
            Keep::Fresh,
            html(&Migrate::with_example(form, versions, lists)),
        ))
    };
    let answer = move |request: HttpRequest, payload: Payload| {
        answer(state.clone(), translations.clone(), request, payload)
    };
    let resource = methods(adapter_kit::Method::Get)
        .iter()
        .fold(web::resource("/migrate"), |resource, method| {
            resource.route(web::method(method.clone()).to(show))
        });
    let allowed = [HttpMethod::GET, HttpMethod::HEAD, HttpMethod::POST];
    closed(resource.route(web::post().to(answer)), &allowed)
}

async fn answer(
    state: GatewayState,
    translations: ConcurrencyLimit,
    request: HttpRequest,
    payload: Payload,
) -> HttpResponse {
    let versions = state.versions;
    // Counted before the form is received, so that requests beyond the limit use no memory.
    if let Err(failure) = state.address_rate_limit.count(&request) {
        return refusal(ApiError::from_address_quota(failure), versions);
    }
    let bodies = state
        .bodies
        .for_client(state.address_rate_limit.budget_owner(&request));
    let encoded = match bodies
        .receive(request.headers(), payload, MAX_FORM_BYTES)
        .await
    {
        Ok(encoded) => encoded,
        Err(error) => return refusal(error.into(), versions),
    };
    let Some(permit) = translations.acquire().await else {
        return refusal(ApiError::TooManyTranslations, versions);
    };
    let context = TranslationContext {
        today: state.store.now().date_naive(),
        lists: state.lists,
    };
    let work = move || {
        // The work holds the permit, because it continues after the client has disconnected.
        let _held = &permit;
        let mut form = Form::read(&encoded);
        if form.asks_for_example() {
            return (
                StatusCode::OK,
                html(&Migrate::with_example(form, versions, context.lists)),
            );
        }
        let outcome = form.translation_request(versions).map(
            |TranslationRequest {
                 from,
                 to,
                 body_kind,
                 body,
             }| {
                let translation = translate(&body, from, to, &body_kind, context);
                Outcome::new(&body, translation)
            },
        );
        let status = if outcome.is_some() {
            StatusCode::OK
        } else {
            StatusCode::UNPROCESSABLE_ENTITY
        };
        (status, html(&Migrate::new(form, versions, outcome)))
    };
    // A large body can occupy a processor, so the work must not run on this thread.
    match web::block(work).await {
        Ok((status, html)) => page(status, Keep::Never, html),
        Err(_) => ApiError::Interrupted.response_without_version().into(),
    }
}

/// Returns the page with an empty form and the reason that the sent form was not processed.
fn refusal(failure: ApiError, versions: &'static Versions) -> HttpResponse {
    let why = if let ApiError::TooManyRequests { used_up, .. } = &failure {
        let retry_after = used_up.retry_after;
        format!("Your address sent too many requests. Send the form again in {retry_after} s")
    } else if let ApiError::Body(BodyError::TooLarge { .. }) = &failure {
        form::too_large()
    } else if let ApiError::Body(BodyError::Encoded) = &failure {
        "The form has a Content-Encoding header. Send the form without it".to_owned()
    } else if let ApiError::TooManyTranslations = &failure {
        "The server is busy. Send the form again".to_owned()
    } else {
        "The form did not arrive completely. Send it again".to_owned()
    };
    let reply = failure.response_without_version();
    let form = Form::refused(FormField::Body, why);
    let mut response = page(
        reply.status,
        Keep::Never,
        html(&Migrate::new(form, versions, None)),
    );
    // Headers about retries and remaining requests.
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

impl Migrate {
    /// Returns the page with an example of the selected version and kind as its body.
    fn with_example(mut form: Form, versions: &'static Versions, lists: &Lists) -> Self {
        let chosen = form
            .label(FormField::From)
            .and_then(|label| versions.find(label));
        let from = chosen
            .or(versions.iter().next())
            .map(|served| served.version);
        let example = from.and_then(|version| {
            Some((
                version.label,
                example::body(version, form.body_kind()?, lists)?,
            ))
        });
        if let Some((_, example)) = &example {
            form.set(FormField::Body, format!("{example:#}"));
        }
        Self {
            example_of: example.map(|(label, _)| label),
            ..Self::new(form, versions, None)
        }
    }

    fn new(form: Form, versions: &'static Versions, outcome: Option<Outcome>) -> Self {
        let labels = || versions.iter().map(|served| served.version.label);
        let oldest = labels().next();
        let newest = labels().next_back();
        let selected = |field| form.label(field).and_then(|label| versions.find(label));
        let endpoints = selected(FormField::From)
            .zip(selected(FormField::To))
            .map(|(from, to)| Endpoints {
                from: from.version.label,
                to: to.version.label,
                changes: endpoints::changes(from.version, to.version),
            });
        let removed = form
            .label(FormField::From)
            .filter(|label| REMOVED.iter().any(|known| known.label == *label));
        Self {
            place: DocsLocation::Migrate,
            from: form.versions(FormField::From, versions, oldest),
            to: form.versions(FormField::To, versions, newest),
            kinds: form.kinds(
                selected(FormField::From)
                    .or(versions.iter().next())
                    .map(|served| served.version),
            ),
            example_of: None,
            removed,
            served: labels().map(|label| label.to_string()).collect(),
            endpoints,
            outcome,
            form,
        }
    }
}

impl Outcome {
    fn new(sent: &Value, translation: Translation) -> Self {
        let (old, new) = marked::sides(sent, &translation);
        let problem = |problem: adapter_kit::problems::ErrorEntry| {
            let (code, field) = problem
                .located
                .map(|located| (located.code, located.field))
                .unwrap_or_default();
            let remedy = Code::ALL
                .iter()
                .find(|known| known.name() == code)
                .map_or("", |code| code.remedy());
            Problem {
                field,
                message: problem.message,
                code: code.to_owned(),
                remedy,
            }
        };
        Self {
            from: translation.from,
            to: translation.to,
            taken_for: taken_for(&translation.body_kind),
            old,
            new,
            plain: format!("{:#}", translation.data),
            renames: Rows::new(translation.renames, |rename| Renamed {
                path: rename.path,
                from: rename.from,
                to: rename.to,
            }),
            lost: Rows::new(translation.lost, |loss| Lost {
                path: loss.path,
                value: truncated(&loss.value.to_string()),
                why: loss.message,
            }),
            problems: Rows::new(translation.problems, problem),
            notices: Rows::new(translation.notices, |notice| Noticed {
                path: notice.path,
                message: notice.message,
            }),
        }
    }
}

impl<T> Rows<T> {
    fn new<U>(all: Vec<U>, row: impl Fn(U) -> T) -> Self {
        Self {
            count: all.len(),
            rows: all.into_iter().take(MAX_ROWS).map(row).collect(),
        }
    }

    fn more(&self) -> usize {
        self.count - self.rows.len()
    }
}

/// Describes the detected kind of a body.
fn taken_for(body_kind: &BodyKind) -> Option<String> {
    let record = body_kind.record?.name();
    let what = match (body_kind.direction?, body_kind.purpose) {
        (Direction::Reply, _) => "a response with a",
        (Direction::Request, Some(Purpose::Create)) => "a request that creates a",
        (Direction::Request, Some(Purpose::Update)) => "a request that updates a",
        (Direction::Request, None) => "a request for a",
    };
    Some(format!("{what} {record}"))
}
