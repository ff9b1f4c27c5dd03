//! A request as owned values: everything that a handler needs, so that the handler can run outside
//! the event loop.
//!
//! A request can be handled more than once, because the store runs a job again after a collision
//! with another job.

use std::ops::Deref;
use std::sync::{Arc, Once};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{ETAG, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH};
use actix_web::http::{Method as HttpMethod, StatusCode};
use actix_web::web::Payload;
use adapter_kit::read::{
    BatchForm, BatchItem, NestedLists, ReadableRecord, Reader, UnknownNames, parse_json, read_batch,
};
use adapter_kit::read_only::{Difference, ReadOnlyNames, ReplyComparison};
use adapter_kit::{ApiVersion, Endpoint, EndpointRow, Method, Served, WireRecord, identifiers};
use chrono::NaiveDate;
use domain::{
    NestedRecord, Notice, ParsedRecord, Problem, RecordField as _, TraineeField, for_each_nested,
};
use http_kit::limits::permits::Client;
use http_kit::limits::rate_limit::RemainingQuota;
use http_kit::metrics;
use http_kit::requests::body::{Body, BodyError, MAX_BODY_BYTES, batch_form};
use http_kit::requests::preferences::Preferences;
use http_kit::requests::request_id::{self, RequestId};
use http_kit::responses::etag::{self, Comparison, are_quoted, is_among};
use storage::base::cause::Cause;
use storage::identifiers::Identifiers;
use storage::records::positions::Standing;

use crate::admission::{Admitted, client_of_token};
use crate::error::{ApiError, ErrorForm, PreconditionError};
use crate::outcome::Requested;
use crate::recording::observation::Observer;
use crate::request::idempotency_key::{IDEMPOTENCY_KEY, Key, MalformedKey};
use crate::request::identity::{Identity, UserIdentity};
use crate::request::query::UnknownParameter;
use crate::request::row::Row;
use crate::response::ApiResponse;
use crate::state::GatewayState;

pub mod authentication;
pub mod idempotency_key;
pub mod identity;
pub mod query;
pub mod row;

/// The canonical identifiers in a path; empty where it has none. Also empty for a text that is not
/// an identifier in the form of the version: no record has the empty identifier.
#[derive(Debug, Clone)]
pub struct PathIds {
    trainee: String,
    nested: String,
}

impl PathIds {
    /// The identifiers in a path of a version. `parameter` returns the path segment at a placeholder
    /// of the path's pattern, such as `trainee_id`.
    pub fn from_path_parameters<'a>(
        version: &ApiVersion,
        parameter: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        let id = |name| {
            let id = parameter(name).and_then(|text| identifiers::read(version, name, text));
            id.unwrap_or_default().into_owned()
        };
        Self {
            trainee: id(TraineeField::trainee_id.info().name),
            nested: for_each_nested!(id_name()).map(id).concat(),
        }
    }
}

/// The placeholder for the identifier of a nested record in the pattern of a path.
fn id_name<R: NestedRecord>() -> &'static str {
    R::ID.info().name
}

/// A request for an endpoint of a version.
#[derive(Debug)]
pub struct ApiRequest {
    /// The version of the request, with its data that depends on the other versions.
    pub served: &'static Served,
    /// The state that all requests share.
    pub state: Arc<GatewayState>,
    /// How long the client prefers to wait for changes.
    pub wait: Option<Duration>,
    /// The sender of the request.
    pub identity: Identity,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The form of problems in the reply.
    pub form: ErrorForm,
    /// The rest of the rate limit after the request was admitted, if it has a limit.
    pub remaining: Option<RemainingQuota>,
    /// How the items of a batch are written.
    pub batch_form: BatchForm,
    /// Whether this is an item of a batch or a row of a file.
    pub is_part: bool,
    /// Whether the request has an `Idempotency-Key`.
    pub has_key: bool,
    request_id: Option<RequestId>,
    ids: PathIds,
    query: String,
    unknown_parameters: Vec<UnknownParameter>,
    if_match: Option<String>,
    if_none_match: Option<String>,
    idempotency_key: Result<Option<Key>, MalformedKey>,
    validates_only: bool,
    body: Result<Body, BodyError>,
    unknown: UnknownNames,
    /// Ensures that the names in the body are counted once, even if the handler runs again.
    names_counted: Once,
}

impl ApiRequest {
    /// Reads a request with an admitted token. An unusable body is kept as an error, because a
    /// token that was revoked during the request is reported first.
    pub(crate) async fn extract(
        request: &HttpRequest,
        requested: Requested,
        admitted: Admitted,
        ids: PathIds,
        payload: Payload,
        state: &Arc<GatewayState>,
    ) -> Self {
        let (headers, query) = (request.headers(), request.query_string());
        let row = requested.served.version.row(requested.endpoint);
        let preferences = Preferences::from_headers(headers);
        let client = client_of_token(admitted.valid);
        let body = read_body(state, row, client, request, payload).await;
        Self {
            wait: preferences.wait,
            ids,
            remaining: admitted.remaining,
            form: requested.form,
            batch_form: batch_form(headers),
            is_part: false,
            has_key: headers.contains_key(IDEMPOTENCY_KEY),
            query: query.to_owned(),
            unknown_parameters: query::unknown(query, row.query_parameters),
            if_match: tags(headers, IF_MATCH),
            if_none_match: tags(headers, IF_NONE_MATCH),
            idempotency_key: read_key(state, row, request, &body),
            validates_only: requested.validates_only,
            unknown: unknown_names(preferences),
            ..Self::part(
                state,
                requested.served,
                Identity::Token {
                    digest: admitted.token,
                    admitted: admitted.valid,
                },
                requested.endpoint,
                body,
            )
        }
    }

    /// The endpoint whose handler answers: for a batch, that of each item.
    #[must_use]
    pub fn handled_endpoint(&self) -> Endpoint {
        self.endpoint.row().batch_of().unwrap_or(self.endpoint)
    }

    /// The client whose permits the request takes.
    #[must_use]
    pub fn client(&self) -> Client {
        let token = self.identity.token();
        token.map_or(Client::Unknown, client_of_token)
    }

    /// Whether the request is a batch.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.endpoint.row().is_batch() && !self.is_part
    }

    /// The body of a batch, and its items.
    ///
    /// # Errors
    ///
    /// The reason why no item can be handled.
    pub fn batch_items(&self) -> Result<(&Body, Vec<BatchItem<'_>>), ApiError> {
        let body = self.body.as_ref().map_err(|error| *error)?;
        let key = self.version().wire.envelope.request;
        Ok((
            body,
            read_batch(body, self.batch_form, self.unknown, key).map_err(ApiError::Batch)?,
        ))
    }

    /// The separate request that an item of this batch stands for. Its digests equal those of
    /// a separate request with the same key and data, so that only the first of both is carried
    /// out.
    pub(crate) fn to_item_request(&self, key: &str, data: &str, batch: &Body) -> Self {
        let row = self.version().row(self.handled_endpoint());
        let path = self.version().label.base_path() + row.path;
        let record_key = self.version().wire.envelope.request;
        let body = ["{\"", record_key, "\":", data, "}"].concat().into_bytes();
        let digests = &self.state.key_digests;
        let key = Key::new(key, &HttpMethod::POST, &path, &body, digests);
        let identity = self.identity.clone();
        Self {
            ids: self.ids.clone(),
            request_id: self.request_id.clone(),
            idempotency_key: Ok(Some(key)),
            validates_only: self.validates_only,
            unknown: self.unknown,
            ..Self::part(
                &self.state,
                self.served,
                identity,
                self.endpoint,
                Ok(batch.part(body)),
            )
        }
    }

    /// The request for a row of a file, in the newest version; `None` if no version is served.
    /// Unknown names are refused.
    pub(crate) fn from_row(
        state: &Arc<GatewayState>,
        user: UserIdentity,
        row: Row,
    ) -> Option<Self> {
        let served = state.versions.newest()?;
        let path = served.version.row(row.endpoint).path;
        let ids = [(TraineeField::trainee_id.info().name, row.trainee_id.clone())];
        let path = identifiers::fill(served.version, path, &ids);
        let path = served.version.label.base_path() + &path;
        let digests = &state.key_digests;
        let key = row
            .idempotency_key
            .map(|key| Key::new(&key, &HttpMethod::POST, &path, &row.body, digests));
        let (identity, body) = (Identity::User(user), Body::default().part(row.body));
        Some(Self {
            ids: PathIds {
                trainee: row.trainee_id,
                nested: row.nested_id,
            },
            if_match: row.if_match,
            idempotency_key: Ok(key),
            validates_only: row.validates_only,
            unknown: UnknownNames::Reject,
            ..Self::part(state, served, identity, row.endpoint, Ok(body))
        })
    }

    /// A request without headers and query, such as a part of a batch or of a file.
    fn part(
        state: &Arc<GatewayState>,
        served: &'static Served,
        identity: Identity,
        endpoint: Endpoint,
        body: Result<Body, BodyError>,
    ) -> Self {
        Self {
            served,
            state: Arc::clone(state),
            wait: None,
            identity,
            endpoint,
            form: ErrorForm::List,
            remaining: None,
            batch_form: BatchForm::Array,
            is_part: true,
            has_key: false,
            request_id: request_id::current(),
            ids: PathIds {
                trainee: String::new(),
                nested: String::new(),
            },
            query: String::new(),
            unknown_parameters: Vec::new(),
            if_match: None,
            if_none_match: None,
            idempotency_key: Ok(None),
            validates_only: false,
            body,
            unknown: UnknownNames::Warn,
            names_counted: Once::new(),
        }
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> &'static ApiVersion {
        self.served.version
    }

    /// The identifier of the trainee in the path.
    #[must_use]
    pub fn trainee_id(&self) -> &str {
        &self.ids.trainee
    }

    /// The identifier of the nested record in the path.
    #[must_use]
    pub fn nested_id(&self) -> &str {
        &self.ids.nested
    }

    /// The query, as it was sent.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The query parameters that the endpoint does not have, if the client prefers strict handling;
    /// otherwise none.
    #[must_use]
    pub fn refused_parameters(&self) -> &[UnknownParameter] {
        match self.unknown {
            UnknownNames::Reject => &self.unknown_parameters,
            UnknownNames::Warn | UnknownNames::Ignore => &[],
        }
    }

    /// The texts of `Warning` headers about query parameters that the endpoint does not have; none
    /// if the client prefers strict handling.
    #[must_use]
    pub fn parameter_warnings(&self) -> Vec<String> {
        match self.unknown {
            UnknownNames::Reject | UnknownNames::Ignore => Vec::new(),
            UnknownNames::Warn => self
                .unknown_parameters
                .iter()
                .filter_map(UnknownParameter::warning)
                .collect(),
        }
    }

    /// Whether the request is only checked and answered, and nothing is stored.
    #[must_use]
    pub fn validates_only(&self) -> bool {
        self.validates_only
    }

    /// Draws random identifiers for `count` new records. A request that is only validated gets
    /// none.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn identifiers(&self, count: usize) -> Result<Identifiers, ApiError> {
        Ok(Identifiers::draw(if self.validates_only {
            0
        } else {
            count
        })?)
    }

    /// The identifier of the request in replies and the log; empty outside the server.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.request_id.clone().unwrap_or_default()
    }

    /// The version, endpoint and request identifier, for the history of changed records.
    #[must_use]
    pub fn cause(&self) -> Cause<'_> {
        let (version, request_id) = (Some(&*self.served.label), self.request_id.as_deref());
        Cause {
            version,
            request_id,
            ..Cause::new(self.endpoint.name())
        }
    }

    /// The idempotency key of the request, if the client sent one.
    ///
    /// # Errors
    ///
    /// If the header is not a valid key. Also if there is a key and the body did not arrive:
    /// without the body's digest, the request cannot be compared with others that have the same
    /// key.
    pub fn idempotency_key(&self) -> Result<Option<&Key>, ApiError> {
        let key = self
            .idempotency_key
            .as_ref()
            .map_err(|malformed| *malformed)?;
        match &self.body {
            Err(error @ (BodyError::CutOff | BodyError::TooSlow | BodyError::NoRoom))
                if key.is_some() =>
            {
                Err(ApiError::Body(*error))
            }
            Ok(_) | Err(_) => Ok(key.as_ref()),
        }
    }

    /// Adds the entity tag of the record in the reply, unless the request is only validated. A
    /// `GET` of the record has the same body and therefore the same tag.
    #[must_use]
    pub fn with_etag(&self, reply: ApiResponse) -> ApiResponse {
        let tag = etag::compute(&reply.body);
        self.with_tag(reply, tag)
    }

    /// Like [`ApiRequest::with_etag`], for a reply whose body differs from a `GET` of the record.
    /// `shown` is the reply to such a `GET`.
    #[must_use]
    pub fn with_etag_of(&self, reply: ApiResponse, shown: &ApiResponse) -> ApiResponse {
        self.with_tag(reply, etag::compute(&shown.body))
    }

    fn with_tag(&self, reply: ApiResponse, tag: String) -> ApiResponse {
        if self.validates_only {
            reply
        } else {
            reply.with(ETAG.as_str(), tag)
        }
    }

    /// Adds the entity tag to the reply of a `GET`. If `If-None-Match` has this tag, returns `304`
    /// without a body instead.
    #[must_use]
    pub fn not_modified_if_cached(&self, reply: ApiResponse) -> ApiResponse {
        let tag = etag::compute(&reply.body);
        self.not_modified_if_cached_as(reply, tag)
    }

    /// Like [`ApiRequest::not_modified_if_cached`], with the known entity tag of the reply's body.
    #[must_use]
    pub fn not_modified_if_cached_as(&self, reply: ApiResponse, tag: String) -> ApiResponse {
        self.not_modified(&tag)
            .unwrap_or_else(|| reply.with(ETAG.as_str(), tag))
    }

    /// The reply `304` without a body, if `If-None-Match` has this entity tag.
    #[must_use]
    pub fn not_modified(&self, tag: &str) -> Option<ApiResponse> {
        let cached = etag::find(self.if_none_match.as_deref()?, tag, Comparison::Weak)?;
        Some(ApiResponse::not_modified().with(ETAG.as_str(), cached))
    }

    /// The entity tag of a list that shows what `standing` shows. `query` is the query as the server
    /// reads it. The tag also depends on the date, because a list may, and on the release of the
    /// program, which may write the same records differently.
    #[must_use]
    pub fn tag_of_list(&self, standing: &Standing, today: NaiveDate, query: &str) -> String {
        let parts = [
            standing.to_text(),
            self.served.label.clone(),
            today.to_string(),
            env!("CARGO_PKG_VERSION").to_owned(),
            query.to_owned(),
        ];
        etag::weak(parts.join("\n").as_bytes())
    }

    /// Fails unless a request that changes a record meets its conditions: `If-Match` is absent or
    /// matches the record's entity tag, and `If-None-Match` is absent or does not match it.
    /// `present` returns the reply that shows the record before the change.
    ///
    /// # Errors
    ///
    /// [`ApiError::PreconditionFailed`], or the error of `present`.
    pub fn require_match(
        &self,
        present: impl FnOnce() -> Result<ApiResponse, ApiError>,
    ) -> Result<(), ApiError> {
        if self.if_match.is_none() && self.if_none_match.is_none() {
            return Ok(());
        }
        let tag = etag::compute(&present()?.body);
        if let Some(tags) = self.if_match.as_deref() {
            require_among(tags, &tag)?;
        }
        match self.if_none_match.as_deref() {
            Some(tags) if is_among(tags, &tag, Comparison::Weak) => {
                Err(ApiError::PreconditionFailed(PreconditionError::Exists))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Fails unless a request that adds a record to a trainee meets `If-Match`. `present` returns
    /// the reply that shows the trainee. `If-None-Match` has no effect, because it applies to the
    /// added record, which does not exist yet.
    ///
    /// # Errors
    ///
    /// [`ApiError::PreconditionFailed`], or the error of `present`.
    pub fn require_match_of_owner(
        &self,
        present: impl FnOnce() -> Result<ApiResponse, ApiError>,
    ) -> Result<(), ApiError> {
        let Some(tags) = self.if_match.as_deref() else {
            return Ok(());
        };
        require_among(tags, &etag::compute(&present()?.body))
    }
}

/// One run of a handler: the request, and what is observed of it. A job that runs again gets a new
/// context.
#[derive(Debug)]
pub struct HandlerContext<'a> {
    request: &'a ApiRequest,
    /// What is observed of the request.
    pub observer: Observer,
}

impl Deref for HandlerContext<'_> {
    type Target = ApiRequest;

    fn deref(&self) -> &ApiRequest {
        self.request
    }
}

impl<'a> HandlerContext<'a> {
    /// The context of one run of the handler.
    #[must_use]
    pub fn new(request: &'a ApiRequest, observer: Observer) -> Self {
        Self { request, observer }
    }

    /// The status of the reply if the handler succeeds. An item of a batch has the status of the
    /// separate request that it stands for.
    #[must_use]
    pub fn success_status(&self) -> StatusCode {
        // Every number in the table of endpoints is a valid status, so the default is not used.
        let row = self.version().row(self.handled_endpoint());
        StatusCode::from_u16(row.status).unwrap_or(StatusCode::OK)
    }

    /// The address of a record; `None` if the version does not show addresses. `place` returns the
    /// endpoint that shows the record, and the canonical identifiers in its path by their names, or
    /// `None` for a record that is only validated.
    #[must_use]
    pub fn address(
        &self,
        place: impl FnOnce() -> Option<(Endpoint, Vec<(&'static str, String)>)>,
    ) -> Option<String> {
        if !self.version().wire.envelope.record_links {
            return None;
        }
        let (endpoint, ids) = place()?;
        let path = identifiers::fill(self.version(), self.version().row(endpoint).path, &ids);
        Some(self.version().label.base_path() + &path)
    }

    /// Reads the body of a request that creates a record or changes a trainee's state, including
    /// nested lists.
    ///
    /// # Errors
    ///
    /// The reason why the body cannot be read. Problems of its content are in the result.
    pub fn read<R: ReadableRecord>(&self) -> Result<ParsedRecord<R>, ApiError> {
        self.read_with(NestedLists::Read)
    }

    /// Reads the body of a request that changes a record. Nested lists are ignored, because nested
    /// records have separate endpoints.
    ///
    /// # Errors
    ///
    /// As [`HandlerContext::read`].
    pub fn read_changes<R: ReadableRecord>(&self) -> Result<ParsedRecord<R>, ApiError> {
        self.read_with(NestedLists::Ignore)
    }

    fn read_with<R: ReadableRecord>(
        &self,
        nested: NestedLists,
    ) -> Result<ParsedRecord<R>, ApiError> {
        let body = self.body.as_ref().map_err(|error| *error)?;
        let reader = Reader {
            served: self.served,
            unknown: self.unknown,
            nested,
        };
        let sent = reader.read::<R>(body).map_err(ApiError::Malformed)?;
        self.observer
            .read(body, &sent.unrecognised.of_other_versions);
        self.names_counted
            .call_once(|| metrics::unrecognised_names(self.version().label, &sent.unrecognised));
        Ok(sent)
    }

    /// Appends a notice for each read-only name whose value differs from the reply.
    ///
    /// # Errors
    ///
    /// [`ApiError::Invalid`] with all differing names if the client prefers strict handling.
    pub fn report_ignored<R: WireRecord>(
        &self,
        names: &ReadOnlyNames<R>,
        (stored, result): (Option<&R>, &R),
        notices: &mut Vec<Notice>,
    ) -> Result<(), ApiError> {
        let found = self.find_ignored(names, (stored, Some(result)))?;
        if names.is_strict && !found.is_empty() {
            let problems = found.into_iter().map(Difference::into_problem);
            return Err(ApiError::Invalid(problems.collect()));
        }
        notices.extend(found.into_iter().map(Difference::into_notice));
        Ok(())
    }

    /// Returns the error of a refused request. If the client prefers strict handling, the error
    /// also has the read-only names whose values would be ignored.
    pub fn refuse<R: WireRecord>(
        &self,
        names: &ReadOnlyNames<R>,
        stored: Option<&R>,
        mut problems: Vec<Problem>,
    ) -> ApiError {
        if names.is_strict {
            match self.find_ignored(names, (stored, None)) {
                Ok(found) => problems.extend(found.into_iter().map(Difference::into_problem)),
                Err(error) => return error,
            }
        }
        ApiError::Invalid(problems)
    }

    /// Finds the read-only names whose values differ from the reply.
    fn find_ignored<R: WireRecord>(
        &self,
        names: &ReadOnlyNames<R>,
        (stored, result): (Option<&R>, Option<&R>),
    ) -> Result<Vec<Difference>, ApiError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // The body is parsed again, because reading does not keep values of read-only names.
        let body = self.body.as_ref().map_err(|error| *error)?;
        let comparison = ReplyComparison {
            version: self.version(),
            lists: self.state.lists,
            body: &parse_json(body).map_err(ApiError::Malformed)?.value,
            stored,
            result,
        };
        comparison
            .find_differences(names)
            .map_err(ApiError::unwritable)
    }
}

/// Fails unless the entity tag of the record is among `tags`, those of `If-Match`.
fn require_among(tags: &str, tag: &str) -> Result<(), ApiError> {
    if is_among(tags, tag, Comparison::Strong) {
        return Ok(());
    }
    Err(ApiError::PreconditionFailed(if !are_quoted(tags) {
        PreconditionError::Unquoted
    } else if is_among(tags, tag, Comparison::Weak) {
        PreconditionError::Weak
    } else {
        PreconditionError::Changed
    }))
}

/// Receives the body of a request for an endpoint. Nothing is read where the endpoint needs none.
async fn read_body(
    state: &GatewayState,
    row: &EndpointRow,
    client: Client,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Body, BodyError> {
    let bodies = &state.bodies;
    match row.method {
        Method::Get => Ok(Body::default()),
        Method::Post if row.is_batch() => {
            bodies
                .read_batch(client, request, payload, MAX_BODY_BYTES)
                .await
        }
        Method::Post | Method::PutOrPatch | Method::Delete => {
            bodies
                .read_json(client, request, payload, MAX_BODY_BYTES)
                .await
        }
    }
}

/// What happens to unknown names, as the client prefers.
fn unknown_names(preferences: Preferences) -> UnknownNames {
    if preferences.is_strict {
        UnknownNames::Reject
    } else {
        UnknownNames::Warn
    }
}

/// The idempotency key of a request. Each item of a batch has its own.
fn read_key(
    state: &GatewayState,
    row: &EndpointRow,
    request: &HttpRequest,
    body: &Result<Body, BodyError>,
) -> Result<Option<Key>, MalformedKey> {
    if row.method != Method::Post || row.is_batch() {
        return Ok(None);
    }
    let body = body.as_ref().map_or(&[][..], |body| body);
    Key::from_request(request, body, &state.key_digests)
}

/// The entity tags of a header, separated by commas; `None` without the header. A value that is not
/// text counts as a tag that matches no record.
fn tags(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<_> = headers
        .get_all(name)
        .map(|line| String::from_utf8_lossy(line.as_bytes()))
        .collect();
    (!lines.is_empty()).then(|| lines.join(","))
}
