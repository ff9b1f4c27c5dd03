//! Runs the handler of a request in one job of the store.

use std::sync::Arc;

use adapter_kit::Endpoint;
use http_kit::requests::authentication::AuthenticationError;
use http_kit::requests::request_id::{self, RequestId};
use http_kit::responses::response_stream::{NoMemory, ResponseSender};
use storage::base::cause::Cause;
use storage::base::token::TokenDigest;
use storage::error::{JobError, StorageError};
use storage::session::{ProviderSession, Session};
use storage::store::Store;

use crate::endpoints::{Access, Handler};
use crate::error::ApiError;
use crate::idempotency;
use crate::recording::observation::{ObservedWrite, Observer, RequestObservation};
use crate::request::identity::{Identity, UserIdentity};
use crate::request::{ApiRequest, HandlerContext, query};
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// Runs the handler in one job of the store. Returns its reply, and what was observed of the
/// request. `count` reserves memory for the reply inside the job, so that a refusal undoes the
/// changes.
pub(crate) async fn run_in_transaction(
    state: &GatewayState,
    endpoint: Endpoint,
    handler: Handler,
    api_request: Arc<ApiRequest>,
    count: fn(ApiResponse, &ResponseSender) -> Result<ApiResponse, NoMemory>,
) -> (Result<ApiResponse, ApiError>, RequestObservation) {
    let identity = api_request.identity.clone();
    let provider_id = provider_of_write(state, &api_request);
    let mode = JobMode::new(handler.access, &api_request);
    let is_checked = mode.writes()
        && endpoint.row().shadow_checked
        && state.recorder.selects_for_check(api_request.served);
    let request_job = RequestJob {
        mode,
        endpoint,
        handler,
        is_checked,
        response_sender: state.response_sender.clone(),
        count,
        api_request,
    };
    let job = move |session: &mut Session<'_>| request_job.run(session);
    let done = match mode {
        JobMode::LookUp => state.store.look_up(job).await,
        JobMode::DryRun | JobMode::Read => state.store.read(job).await,
        JobMode::Write => match provider_id {
            Some(provider_id) => state.store.write_records(provider_id, job).await,
            None => state.store.write(job).await,
        },
    };
    let JobOutput {
        result,
        observation,
        use_is_due,
    } = done.unwrap_or_else(|failed| failed);
    if let (true, Identity::Token(token)) = (use_is_due, identity) {
        actix_web::rt::spawn(record_token_use(
            state.store.clone(),
            token,
            request_id::for_the_log(),
        ));
    }
    (result, *observation)
}

/// How the job of a request runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobMode {
    /// A dry run: checks a write in a transaction that cannot write.
    DryRun,
    LookUp,
    Read,
    Write,
}

/// The provider whose records a request may change; `None` for a token that admission has forgotten.
fn provider_of_write(state: &GatewayState, request: &ApiRequest) -> Option<i64> {
    match &request.identity {
        Identity::Token(token) => Some(state.admission.valid_token(token)?.provider_id),
        Identity::User(user) => Some(user.uploader.provider_id()),
    }
}

impl JobMode {
    fn new(access: Access, request: &ApiRequest) -> Self {
        match access {
            Access::LookUp => Self::LookUp,
            Access::Read => Self::Read,
            Access::Write if request.validates_only() => Self::DryRun,
            Access::Write => Self::Write,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write)
    }
}

/// The job of a request.
struct RequestJob {
    mode: JobMode,
    endpoint: Endpoint,
    handler: Handler,
    /// Whether the write is also checked against the newest version, after the reply.
    is_checked: bool,
    response_sender: ResponseSender,
    count: fn(ApiResponse, &ResponseSender) -> Result<ApiResponse, NoMemory>,
    api_request: Arc<ApiRequest>,
}

impl RequestJob {
    /// Authenticates the sender of the request, and runs the handler.
    fn run(&self, session: &mut Session<'_>) -> Result<JobOutput, JobOutput> {
        match &self.api_request.identity {
            Identity::Token(token) => self.run_for_token(session, token),
            Identity::User(user) => self.run_for_user(session, user),
        }
    }

    /// Authenticates a signed-in user, who must be allowed to upload, and runs the handler.
    fn run_for_user(
        &self,
        session: &mut Session<'_>,
        user: &UserIdentity,
    ) -> Result<JobOutput, JobOutput> {
        let signed_in = user.authenticate(session)?;
        let opened = session.open_to_upload(&signed_in, self.api_request.cause());
        self.run_in(opened.ok_or(ApiError::SignedOut)?)
    }

    /// Authenticates a token, in one query with the trainee where possible, and runs the handler.
    fn run_for_token(
        &self,
        session: &mut Session<'_>,
        token: &TokenDigest,
    ) -> Result<JobOutput, JobOutput> {
        let cause = self.api_request.cause();
        let trainee_id = self.api_request.trainee_id();
        let opened = match self.mode {
            JobMode::LookUp | JobMode::Write if !trainee_id.is_empty() => {
                session.authenticate_for_trainee(token, cause, trainee_id)?
            }
            JobMode::LookUp | JobMode::DryRun | JobMode::Read | JobMode::Write => {
                session.authenticate(token, cause)?
            }
        };
        let Some(opened) = opened else {
            let refusal = session.refusal_of(token)?;
            return Err(ApiError::Unauthorized(AuthenticationError::Refused(refusal)).into());
        };
        self.run_in(opened)
    }

    /// Runs the handler with the records of the provider.
    fn run_in(&self, mut session: ProviderSession<'_>) -> Result<JobOutput, JobOutput> {
        // Read before a write records the use, because a refusal undoes this record.
        let use_is_due = !session.token_use_is_recorded();
        let write = self.is_checked.then(|| {
            Box::new(ObservedWrite {
                part_id: self.api_request.nested_id().to_owned(),
                ..ObservedWrite::default()
            })
        });
        let observer = Observer::new(session.token(), write);
        let context = HandlerContext::new(&self.api_request, observer);
        let result = self.handle(&mut session, &context);
        let is_recorded = match &result {
            Ok(_) => self.mode.writes(),
            // After a failure of the database, no further write is attempted.
            Err(error) => error
                .storage_error()
                .is_some_and(StorageError::is_temporary),
        };
        let observation = Box::new(context.observer.finish());
        JobOutput {
            result,
            observation,
            use_is_due: use_is_due && !is_recorded,
        }
        .into_outcome()
    }

    /// Runs the handler and counts its reply.
    fn handle(
        &self,
        session: &mut ProviderSession<'_>,
        context: &HandlerContext<'_>,
    ) -> Result<ApiResponse, ApiError> {
        // Lists check their parameters themselves, so that one reply names all problems.
        if ![Endpoint::ListTrainees, Endpoint::ListChanges].contains(&self.endpoint) {
            query::require_known(self.api_request.refused_parameters())
                .map_err(ApiError::Filters)?;
        }
        let reply = if self.mode.writes() {
            let reply = idempotency::once(session, context, self.handler)?;
            session.record_token_use()?;
            reply
        } else {
            (self.handler.run)(session, context)?
        };
        // Fails when there is no memory for the reply, which undoes the changes.
        Ok((self.count)(reply, &self.response_sender)?)
    }
}

/// The outcome of a job.
struct JobOutput {
    result: Result<ApiResponse, ApiError>,
    observation: Box<RequestObservation>,
    /// Whether the use of the token must still be recorded.
    use_is_due: bool,
}

impl JobOutput {
    /// The return value of the job: `Err` for an error reply, so that the changes are undone.
    fn into_outcome(self) -> Result<Self, Self> {
        if self.result.is_ok() {
            Ok(self)
        } else {
            Err(self)
        }
    }
}

impl<E: Into<ApiError>> From<E> for JobOutput {
    fn from(error: E) -> Self {
        Self {
            result: Err(error.into()),
            observation: Box::default(),
            use_is_due: false,
        }
    }
}

impl JobError for JobOutput {
    fn storage_error(&self) -> Option<&StorageError> {
        self.result.as_ref().err().and_then(ApiError::storage_error)
    }
}

/// Records that a token was used today. Called at most once a day, after a request that only reads
/// or was refused. Failures are logged.
pub(crate) async fn record_token_use(store: Store, token: TokenDigest, request_id: RequestId) {
    let recorded = store.write(move |session| {
        match session.authenticate(&token, Cause::new("token use"))? {
            Some(mut session) => session.record_token_use(),
            None => Ok(()),
        }
    });
    if let Err(error) = recorded.await {
        let error: StorageError = error;
        log::warn!(request_id; "API token's last-used date not recorded: {error}");
    }
}
