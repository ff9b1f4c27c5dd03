//! The endpoints.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::access_log::{AccessLog, Provider, log};
use crate::records::{FullTrainee, Time};
use crate::registration::{self, Body, Problem, academic_cycle, check, is_school, today};
use crate::store::{List, Status, Store};
use crate::views::View;
use crate::{v2025_0, v2026_1};

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const MAX_BODY_BYTES: usize = 1_048_576;
const PER_PAGE: i64 = 50;
const MAX_PER_PAGE: i64 = 500;

/// Returns the service over a database.
pub(crate) fn router<S: Store>(store: S) -> Router {
    let newest = version::<S, v2026_1::Trainee>();
    let newest = newest.route(
        &path::<v2026_1::Trainee>("/trainees"),
        post(create::<S, v2026_1::Trainee>),
    );
    newest
        .merge(version::<S, v2025_0::Trainee>())
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(
            AccessLog::start(),
            log,
        ))
        .with_state(store)
}

/// The endpoints that read, in one version.
fn version<S: Store, V: View>() -> Router<S> {
    Router::new()
        .route(&path::<V>("/trainees"), get(list::<S, V>))
        .route(&path::<V>("/trainees/{trainee_id}"), get(read::<S, V>))
}

fn path<V: View>(path: &str) -> String {
    format!("/api/{}{path}", V::VERSION)
}

/// A request that fails.
enum Failure {
    Unauthorized,
    NotFound(&'static str),
    BadRequest(String),
    Filters(&'static str),
    Invalid(Vec<Problem>),
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

#[derive(Serialize)]
struct Errors<T> {
    errors: Vec<T>,
}

#[derive(Serialize)]
struct Error<'a> {
    error: &'a str,
    message: &'a str,
}

fn error(status: StatusCode, error: &str, message: &str) -> Response {
    let errors = vec![Error { error, message }];
    json(status, &Errors { errors })
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::Unauthorized => {
                let body = serde_json::json!({ "error": "Unauthorized" });
                json(StatusCode::UNAUTHORIZED, &body)
            }
            Self::NotFound(message) => error(StatusCode::NOT_FOUND, "NotFound", message),
            Self::BadRequest(message) => error(StatusCode::BAD_REQUEST, "BadRequest", &message),
            Self::Filters(name) => {
                let body = serde_json::json!({
                    "message": "1 filter is not valid",
                    "errors": { name: [format!("{name} is not valid")] },
                });
                json(StatusCode::UNPROCESSABLE_ENTITY, &body)
            }
            Self::Invalid(errors) => json(StatusCode::UNPROCESSABLE_ENTITY, &Errors { errors }),
            Self::Database(cause) => {
                eprintln!("the database failed: {cause}");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                error(status, "InternalServerError", "the request failed")
            }
        }
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let mut bytes = Vec::with_capacity(4096);
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => (status, [(CONTENT_TYPE, JSON)], bytes).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn reply(ukprn: String, status: StatusCode, body: &impl Serialize) -> Response {
    let mut response = json(status, body);
    response.extensions_mut().insert(Provider(ukprn));
    response
}

/// Returns what the database keeps of a token.
pub(crate) fn digest(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// The digest of a request's token, which may be unknown.
struct Token(Vec<u8>);

impl<S: Sync> FromRequestParts<S> for Token {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let token = parts
            .headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "))
            .ok_or(Failure::Unauthorized)?;
        Ok(Self(digest(token)))
    }
}

/// Returns why nothing was found: the token is unknown, or there is nothing.
async fn not_found(store: &impl Store, token: &[u8], message: &'static str) -> Failure {
    match store.provider(token).await {
        Ok(Some(_)) => Failure::NotFound(message),
        Ok(None) => Failure::Unauthorized,
        Err(error) => Failure::Database(error),
    }
}

#[derive(Serialize)]
struct Data<T> {
    data: T,
}

async fn read<S: Store, V: View>(
    State(store): State<S>,
    Token(token): Token,
    Path(trainee_id): Path<String>,
) -> Result<Response, Failure> {
    let Some(full) = store.trainee(&token, &trainee_id).await? else {
        return Err(not_found(&store, &token, "trainee not found").await);
    };
    let ukprn = full.trainee.ukprn.clone();
    let data = V::from(full);
    Ok(reply(ukprn, StatusCode::OK, &Data { data }))
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    academic_cycle: Option<String>,
    status: Option<String>,
    since: Option<String>,
    has_trn: Option<String>,
    sort_order: Option<String>,
    page: Option<String>,
    per_page: Option<String>,
}

/// Returns a parameter that is not blank.
fn present(value: Option<&String>) -> Option<&str> {
    value
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
}

/// Returns a parameter of at least 1, or else the default.
fn positive(value: Option<&String>, default: i64) -> i64 {
    present(value)
        .and_then(|text| text.parse().ok())
        .filter(|number| *number >= 1)
        .unwrap_or(default)
}

impl ListQuery {
    fn parse(&self) -> Result<List, Failure> {
        let academic_cycle = match present(self.academic_cycle.as_ref()) {
            Some(text) => text
                .parse()
                .ok()
                .filter(|year| (2009..=academic_cycle(today()) + 5).contains(year))
                .ok_or(Failure::Filters("academic_cycle"))?,
            None => academic_cycle(today()),
        };
        let status = match present(self.status.as_ref()) {
            None => None,
            Some("course_not_yet_started") => Some(Status::CourseNotYetStarted),
            Some("in_training") => Some(Status::InTraining),
            Some("deferred") => Some(Status::Deferred),
            Some("awarded") => Some(Status::Awarded),
            Some("withdrawn") => Some(Status::Withdrawn),
            Some(_) => return Err(Failure::Filters("status")),
        };
        let has_trn = match present(self.has_trn.as_ref()) {
            None => None,
            Some(text) if text == "1" || text.eq_ignore_ascii_case("true") => Some(true),
            Some(text) if text == "0" || text.eq_ignore_ascii_case("false") => Some(false),
            Some(_) => return Err(Failure::Filters("has_trn")),
        };
        let since = match present(self.since.as_ref()) {
            Some(text) => Some(time(text).ok_or(Failure::Filters("since"))?),
            None => None,
        };
        let is_ascending = match present(self.sort_order.as_ref()) {
            None | Some("desc") => false,
            Some("asc") => true,
            Some(_) => return Err(Failure::Filters("sort_order")),
        };
        let limit = positive(self.per_page.as_ref(), PER_PAGE).min(MAX_PER_PAGE);
        let page = positive(self.page.as_ref(), 1);
        Ok(List {
            academic_cycle,
            status,
            has_trn,
            since,
            is_ascending,
            offset: (page - 1).saturating_mul(limit),
            limit,
        })
    }
}

/// Returns the time of a date or of a datetime, in UTC if it has no offset.
fn time(text: &str) -> Option<Time> {
    let time = DateTime::parse_from_rfc3339(text)
        .map(|time| time.to_utc())
        .or_else(|_| text.parse::<NaiveDateTime>().map(|time| time.and_utc()))
        .or_else(|_| {
            let date = text.parse::<NaiveDate>();
            date.map(|date| date.and_time(NaiveTime::MIN).and_utc())
        });
    time.ok().map(|time| Time(time.timestamp_millis()))
}

#[derive(Serialize)]
struct Page<T> {
    data: Vec<T>,
    meta: Meta,
}

#[derive(Serialize)]
struct Meta {
    current_page: i64,
    total_pages: i64,
    total_count: i64,
    per_page: i64,
}

async fn list<S: Store, V: View>(
    State(store): State<S>,
    Token(token): Token,
    Query(query): Query<ListQuery>,
) -> Result<Response, Failure> {
    let list = query.parse()?;
    let (trainees, total_count) = store.page(&token, &list).await?;
    let Some(first) = trainees.first() else {
        return Err(not_found(&store, &token, "no trainees found").await);
    };
    let ukprn = first.ukprn.clone();
    let page = Page {
        data: trainees.into_iter().map(V::from).collect(),
        meta: Meta {
            current_page: list.offset / list.limit + 1,
            total_pages: (total_count + list.limit - 1) / list.limit,
            total_count,
            per_page: list.limit,
        },
    };
    Ok(reply(ukprn, StatusCode::OK, &page))
}

#[derive(Serialize)]
struct Conflict<T> {
    errors: [Error<'static>; 1],
    data: Vec<T>,
}

impl<T: View> From<Vec<FullTrainee>> for Conflict<T> {
    fn from(duplicates: Vec<FullTrainee>) -> Self {
        Self {
            errors: [Error {
                error: "Conflict",
                message: "this trainee is already present",
            }],
            data: duplicates.into_iter().map(T::from).collect(),
        }
    }
}

async fn create<S: Store, V: View>(
    State(store): State<S>,
    Token(token): Token,
    body: Bytes,
) -> Result<Response, Failure> {
    let ukprn = store.provider(&token).await?;
    let ukprn = ukprn.ok_or(Failure::Unauthorized)?;
    let Body { data } = serde_json::from_slice(&body)
        .map_err(|error| Failure::BadRequest(format!("the body is not valid: {error}")))?;
    let schools: Vec<&str> = data
        .placements_attributes
        .iter()
        .map(|placement| placement.urn.as_ref())
        .chain([data.employing_school_urn.as_ref()])
        .filter_map(|urn| urn.map(String::as_str))
        .filter(|urn| is_school(urn))
        .collect();
    let partner = [&data.training_partner_urn, &data.training_partner_ukprn];
    let partner = partner
        .into_iter()
        .filter_map(|number| present(number.as_ref()))
        .find(|number| is_school(number));
    let organisations = store.organisations(&schools, partner).await?;
    if partner.is_some() && organisations.partner.is_none() {
        return Err(Failure::Invalid(vec![registration::unknown_partner()]));
    }
    let new = check(data, &ukprn, &organisations).map_err(Failure::Invalid)?;
    let duplicates = store.register(&new).await?;
    if duplicates.is_empty() {
        let data = V::from(new);
        Ok(reply(ukprn, StatusCode::CREATED, &Data { data }))
    } else {
        let conflict = Conflict::<V>::from(duplicates);
        Ok(reply(ukprn, StatusCode::CONFLICT, &conflict))
    }
}
