//! Answers a request for an endpoint: admits its token, takes it apart, runs the handler in a transaction, and sends its
//! reply.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Endpoint, Served};
use chrono::{DateTime, Utc};
use storage::change_position::Settled;
use storage::error::{JobError, StorageError};
use storage::history::Cause;
use storage::session::{ProviderSession, Session, ValidToken};
use storage::store::Store;
use storage::tokens::TokenDigest;

use crate::endpoints::{Access, Handler};
use crate::http::app_state::AppState;
use crate::http::authentication::{self, AuthenticationError};
use crate::http::error::{ApiError, ErrorForm, RateLimitScope};
use crate::http::middleware::access_log;
use crate::http::middleware::request_id::{self, RequestId};
use crate::http::middleware::response_stream::{ResponseSender, Source};
use crate::http::preferences::{Preferences, VALIDATE_ONLY};
use crate::http::rate_limit::RemainingQuota;
use crate::http::request::{ApiRequest, HandlerContext, PathIds};
use crate::http::response::ApiResponse;
use crate::http::{batch, idempotency, query};
use crate::request_log::ObservedRequest;
use crate::request_log::problems::RequestProblems;
use crate::usage::observation::{Observer, RequestObservation};
use crate::usage::recorder::UsageRecorder;

/// The endpoint of a version that a request is for.
#[derive(Clone, Copy)]
pub struct Route {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What it does.
    pub handler: Handler,
}

impl Route {
    /// Answers one request.
    pub async fn dispatch(
        self,
        state: Rc<AppState>,
        request: HttpRequest,
        ids: PathIds,
        payload: Payload,
    ) -> HttpResponse {
        let Self { served, endpoint, handler } = self;
        let form = ErrorForm::requested(request.headers(), endpoint);
        let mut headers = ResponseHeaders::default();
        let result = match authentication::token(request.headers(), state.environment) {
            Ok(token) => {
                // Before the body is read: nothing is kept of what comes with an invented token.
                match admit(&state, &request, &token, &mut headers).await {
                    Ok(()) => {
                        let api_request =
                            ApiRequest::extract(&request, token, ids, payload, served, endpoint, &state).await;
                        headers.validates_only = handler.access.writes() && api_request.validates_only();
                        headers.warnings = api_request.parameter_warnings();
                        self.run(&state, &request, Arc::new(api_request), &mut headers).await
                    }
                    Err(error) => {
                        let preferences = Preferences::of(request.headers());
                        headers.validates_only = handler.access.writes() && preferences.validates_only;
                        if !matches!(error, ApiError::TooManyRequests { whose: RateLimitScope::Address, .. }) {
                            state.bodies.discard(request.headers(), payload).await;
                        }
                        Err(error)
                    }
                }
            }
            Err(failure) => Err(state.admission.reject(&request, None, failure)),
        };
        let problems = result.as_ref().err().map(|error| RequestProblems::of(error, served)).unwrap_or_default();
        let mut reply = result.unwrap_or_else(|error| error.reply(served, state.lists, form));
        if let Some(token) = headers.token {
            if matches!(reply.source, Source::Request) {
                reply.source = Source::AuthenticatedRequest;
            }
            let observed = ObservedRequest { served, endpoint, status: reply.status, item: None };
            state.request_log.record(&state.store, &request, token, observed, problems);
        }
        headers.add_to(reply, state.store.now()).into()
    }

    /// Runs the handler of an admitted request, and records its use.
    async fn run(
        self,
        state: &AppState,
        request: &HttpRequest,
        api_request: Arc<ApiRequest>,
        headers: &mut ResponseHeaders,
    ) -> Result<ApiResponse, ApiError> {
        let Self { endpoint, handler, .. } = self;
        let recorder = UsageRecorder::of(endpoint, &api_request);
        let (result, mut observation) = match endpoint.row().batch_of() {
            // On the heap, so that no other request is larger for it.
            Some(item) => Box::pin(batch::handle(item, state, request, &api_request, &mut headers.remaining)).await,
            None => {
                let (result, observation, waited) =
                    run_until_changes(state, request, endpoint, handler, &api_request).await;
                headers.waited = waited;
                (result, observation)
            }
        };
        if let Some(found) = observation.token {
            state.admission.remember(&api_request.token, found);
            headers.token = Some(found);
        } else if !matches!(result, Err(ApiError::Unauthorized(_))) {
            // The store failed outside the job; the request counts all the same.
            observation.token = headers.token;
        }
        recorder.record(state, observation, result.is_ok());
        if let Err(ApiError::Unauthorized(failure)) = result {
            // The token has ended since it was last used, and gets the reply of one that never was.
            *headers = ResponseHeaders { validates_only: headers.validates_only, ..ResponseHeaders::default() };
            access_log::identify(request, None);
            return Err(state.admission.reject(request, Some(&api_request.token), failure));
        }
        result
    }
}

/// What the headers of the reply report, beyond those of the handler.
#[derive(Default)]
struct ResponseHeaders {
    /// The token of the request, where it is valid.
    token: Option<ValidToken>,
    /// What is left of the limit of the token, where it has one.
    remaining: Option<RemainingQuota>,
    /// What the client is warned of, whatever the handler does.
    warnings: Vec<String>,
    /// How long the client may have had to wait, where it was made to.
    waited: Option<Duration>,
    /// Whether the request was only tried out.
    validates_only: bool,
}

impl ResponseHeaders {
    fn add_to(self, reply: ApiResponse, now: DateTime<Utc>) -> ApiResponse {
        let mut reply = reply.with_warnings(self.warnings);
        if let Some(remaining) = self.remaining {
            reply = reply.with_rate_limit(RateLimitScope::Token, remaining);
        }
        if let Some(token) = self.token.filter(|token| token.expires_soon(now)) {
            reply = reply.with_first_warning(&expiry_warning(token));
        }
        if let Some(wait) = self.waited {
            reply = reply.with("preference-applied", format!("wait={}", wait.as_secs()));
        }
        if self.validates_only { reply.with("preference-applied", VALIDATE_ONLY) } else { reply }
    }
}

/// Admits the token of a request, and notes what the headers report of it.
async fn admit(
    state: &AppState,
    request: &HttpRequest,
    token: &TokenDigest,
    headers: &mut ResponseHeaders,
) -> Result<(), ApiError> {
    let admitted = state.admission.admit(&state.store, request, token).await;
    headers.token = state.admission.valid_token(token);
    access_log::identify(request, headers.token);
    headers.remaining = admitted?;
    Ok(())
}

/// What the client is warned of when its token expires soon.
fn expiry_warning(token: ValidToken) -> String {
    format!("this token expires on {}: from that day on it is refused", token.expires_on)
}

/// As [`run_in_transaction`]. Where the reply has no changes and the client prefers to wait, the handler is run again until it
/// has, each time with the token authenticated anew. Also returns how long the client may have had to wait, if it was made to.
async fn run_until_changes(
    state: &AppState,
    request: &HttpRequest,
    endpoint: Endpoint,
    handler: Handler,
    api_request: &Arc<ApiRequest>,
) -> (Result<ApiResponse, ApiError>, RequestObservation, Option<Duration>) {
    let run = || run_in_transaction(state, endpoint, handler, Arc::clone(api_request), ResponseSender::count);
    let (mut reply, mut observation) = run().await;
    let has_no_changes = |reply: &Result<ApiResponse, ApiError>| reply.as_ref().is_ok_and(|reply| !reply.has_changes);
    let Some(wait) = api_request.wait.filter(|_| has_no_changes(&reply)) else { return (reply, observation, None) };
    let Some(poll) = state.long_polls.begin(&api_request.token, wait) else { return (reply, observation, None) };
    access_log::set_waited(request);
    while has_no_changes(&reply) && poll.wait().await {
        (reply, observation) = run().await;
    }
    (reply, observation, Some(poll.longest_wait()))
}

/// Runs the handler in one job of the store. Returns its reply, and what the request showed about the client. `count` counts the
/// reply inside the job, where a refusal still undoes the changes.
pub(super) async fn run_in_transaction(
    state: &AppState,
    endpoint: Endpoint,
    handler: Handler,
    api_request: Arc<ApiRequest>,
    count: fn(&ResponseSender, ApiResponse) -> Result<ApiResponse, ApiError>,
) -> (Result<ApiResponse, ApiError>, RequestObservation) {
    let token = api_request.token.clone();
    let mode = JobMode::new(handler.access, &api_request);
    let is_checked = mode.writes() && endpoint.row().shadow_checked && state.shadow.samples(api_request.served);
    let request_job = RequestJob {
        mode,
        endpoint,
        handler,
        is_checked,
        settled: state.settled_changes.get(),
        response_sender: state.response_sender.clone(),
        count,
        api_request,
    };
    let job = move |session: &mut Session<'_>| request_job.run(session);
    let done = match mode {
        JobMode::LookUp => state.store.look_up(job).await,
        JobMode::DryRun | JobMode::Read => state.store.read(job).await,
        JobMode::GroupedInsert => state.store.write_in_group(job).await,
        JobMode::Write => state.store.write(job).await,
    };
    let JobOutput { result, observation, use_is_due } = done.unwrap_or_else(|refused| refused);
    if use_is_due {
        actix_web::rt::spawn(record_token_use(state.store.clone(), token, request_id::for_the_log()));
    }
    (result, *observation)
}

/// How the job of a request runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobMode {
    /// A write of which only the outcome is wanted. Nothing can be written.
    DryRun,
    LookUp,
    Read,
    /// A write that may share a transaction with others.
    GroupedInsert,
    Write,
}

impl JobMode {
    fn new(access: Access, request: &ApiRequest) -> Self {
        match access {
            Access::LookUp => Self::LookUp,
            Access::Read => Self::Read,
            Access::Insert | Access::Write if request.validates_only() => Self::DryRun,
            // A transaction that locks an idempotency key is not shared.
            Access::Insert if matches!(request.idempotency_key(), Ok(None)) => Self::GroupedInsert,
            Access::Insert | Access::Write => Self::Write,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::GroupedInsert | Self::Write)
    }
}

/// The job of a request.
struct RequestJob {
    mode: JobMode,
    endpoint: Endpoint,
    handler: Handler,
    /// Whether what the newest version would say of the write is to be found out.
    is_checked: bool,
    settled: Settled,
    response_sender: ResponseSender,
    count: fn(&ResponseSender, ApiResponse) -> Result<ApiResponse, ApiError>,
    api_request: Arc<ApiRequest>,
}

impl RequestJob {
    /// Authenticates the token and runs the handler.
    fn run(&self, session: &mut Session<'_>) -> Result<JobOutput, JobOutput> {
        let (token, cause) = (&self.api_request.token, self.api_request.cause());
        let trainee_id = self.api_request.trainee_id();
        let opened = match self.mode {
            JobMode::LookUp => session.authenticate_to_show(token, cause, trainee_id)?,
            // A key is committed before the trainee is sought.
            JobMode::Write if !trainee_id.is_empty() && matches!(self.api_request.idempotency_key(), Ok(None)) => {
                session.authenticate_to_change(token, cause, trainee_id)?
            }
            JobMode::DryRun | JobMode::Read | JobMode::GroupedInsert | JobMode::Write => {
                session.authenticate(token, cause)?
            }
        };
        let Some(mut session) = opened else {
            let refusal = session.refusal_of(token)?;
            return Err(ApiError::Unauthorized(AuthenticationError::Refused(refusal)).into());
        };
        // Asked before a write records the use, since a refusal undoes the record.
        let use_is_due = !session.token_use_is_recorded();
        let observer = Observer::new(session.token(), self.is_checked);
        let context = HandlerContext::new(&self.api_request, observer, self.settled);
        let result = self.handle(&mut session, &context);
        let is_recorded = match &result {
            Ok(_) => self.mode.writes(),
            // A database that has failed is not asked to write once more.
            Err(error) => error.of_the_store().is_some_and(StorageError::is_temporary),
        };
        let observation = Box::new(context.observer.finish());
        JobOutput { result, observation, use_is_due: use_is_due && !is_recorded }.into_outcome()
    }

    /// Runs the handler and counts its reply.
    fn handle(&self, session: &mut ProviderSession<'_>, context: &HandlerContext<'_>) -> Result<ApiResponse, ApiError> {
        // Lists check their parameters themselves, so that one reply names all problems.
        if ![Endpoint::ListTrainees, Endpoint::ListChanges].contains(&self.endpoint) {
            query::require_known(self.api_request.refused_parameters()).map_err(ApiError::Filters)?;
        }
        let reply = if self.mode.writes() {
            let reply = idempotency::once(session, context, self.handler)?;
            // Last, so that every job locks trainees before the token.
            session.record_token_use()?;
            reply
        } else {
            (self.handler.run)(session, context)?
        };
        // Fails when there is no memory for the reply, which undoes the changes.
        (self.count)(&self.response_sender, reply)
    }
}

/// The outcome of a job.
struct JobOutput {
    result: Result<ApiResponse, ApiError>,
    observation: Box<RequestObservation>,
    /// Whether the use of the token is still to be recorded.
    use_is_due: bool,
}

impl JobOutput {
    /// The return value of a job: an error undoes its changes.
    fn into_outcome(self) -> Result<Self, Self> {
        if self.result.is_ok() { Ok(self) } else { Err(self) }
    }
}

impl<E: Into<ApiError>> From<E> for JobOutput {
    fn from(error: E) -> Self {
        Self { result: Err(error.into()), observation: Box::default(), use_is_due: false }
    }
}

impl JobError for JobOutput {
    fn of_the_store(&self) -> Option<&StorageError> {
        self.result.as_ref().err().and_then(ApiError::of_the_store)
    }
}

/// Records that a token was used today; once a day, after a request that only reads or was refused. The client does not wait
/// for it.
pub(super) async fn record_token_use(store: Store, token: TokenDigest, request_id: RequestId) {
    let recorded = store.write(move |session| match session.authenticate(&token, Cause::of("token use"))? {
        Some(mut session) => session.record_token_use(),
        None => Ok(()),
    });
    if let Err(error) = recorded.await {
        let error: StorageError = error;
        log::warn!(request_id; "the use of a token was not recorded: {error}");
    }
}
