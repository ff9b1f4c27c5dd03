//! Runs the handler of a request in one job of the store.

use std::sync::Arc;
use std::time::Duration;

use http_kit::limits::permits::Permit;
use http_kit::requests::request_id::{self, RequestId};
use http_kit::responses::sending::{NoPermit, SMALL_REPLY_BYTES};
use storage::accounts::uploads::UploadSender;
use storage::base::cause::Cause;
use storage::base::token::TokenDigest;
use storage::error::{DatabaseError, JobError, StorageError};
use storage::session::{ProviderSession, Session};
use storage::store::{Store, WriteScope};

use crate::endpoints::{self, Access, Handler};
use crate::error::ApiError;
use crate::idempotency;
use crate::outcome::Outcome;
use crate::recording::observation::{ObservedWrite, Observer, RequestObservation};
use crate::request::authentication::AuthenticationError;
use crate::request::identity::Identity;
use crate::request::{ApiRequest, HandlerContext, query};
use crate::response::ApiResponse;

/// How long a list waits for the permit of its reply.
pub(crate) const PERMIT_WAIT: Duration = Duration::from_secs(2);

/// Runs the handler of a request, an item of a batch or a row of a file in one job of the store.
pub(crate) async fn run(request: &Arc<ApiRequest>) -> Outcome {
    let state = &request.state;
    let endpoint = request.handled_endpoint();
    let handler = endpoints::handler(endpoint);
    let permit = if handler.access == Access::List {
        let permits = &state.reply_sender.permits;
        match permits.acquire(request.client(), PERMIT_WAIT).await {
            Some(permit) => Some(permit),
            None => {
                let remaining = request.remaining;
                let refused = Outcome::refused(NoPermit.into(), request.identity.token());
                return Outcome {
                    remaining,
                    ..refused
                };
            }
        }
    } else {
        None
    };
    let mode = JobMode::new(handler.access, request);
    let request_job = RequestJob {
        mode,
        handler,
        is_checked: mode.writes()
            && endpoint.row().shadow_checked
            && state.recorder.selects_for_check(request.served),
        permit,
        request: Arc::clone(request),
    };
    let job = move |session: &mut Session<'_>| request_job.run(session);
    let done = match mode {
        JobMode::LookUp => state.store.look_up(job).await,
        JobMode::DryRun | JobMode::Read => state.store.read(job).await,
        JobMode::Write => {
            let (provider_id, _) = request.identity.recorded();
            let scope = WriteScope::Provider(provider_id);
            state.store.write_in(scope, job).await
        }
    };
    let JobOutput {
        result,
        observation,
        use_is_due,
    } = done.unwrap_or_else(|failed| failed);
    if let (true, Identity::Token { digest, .. }) = (use_is_due, &request.identity) {
        actix_web::rt::spawn(record_token_use(
            state.store.clone(),
            digest.clone(),
            request_id::for_the_log(),
        ));
    }
    if let (Identity::Token { digest, .. }, Some(found)) = (&request.identity, observation.token) {
        state.admission.remember(digest, found);
    }
    let token = observation.token.or(request.identity.token());
    let mut outcome = Outcome::new(
        result,
        RequestObservation {
            token,
            ..*observation
        },
    );
    outcome.remaining = request.remaining;
    outcome.sender = Some(request.identity.recorded());
    outcome
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

impl JobMode {
    fn new(access: Access, request: &ApiRequest) -> Self {
        match access {
            Access::LookUp => Self::LookUp,
            Access::Read | Access::List => Self::Read,
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
    handler: Handler,
    /// Whether the write is also checked against the newest version, after the reply.
    is_checked: bool,
    /// The permit of the reply to a list.
    permit: Option<Permit>,
    request: Arc<ApiRequest>,
}

impl RequestJob {
    /// Authenticates the sender, and runs the handler with the records of its provider, unless an
    /// earlier request with the same idempotency key has a reply.
    fn run(&self, session: &mut Session<'_>) -> Result<JobOutput, JobOutput> {
        let user = match &self.request.identity {
            Identity::User(user) => Some(user.authenticate(session)?),
            Identity::Token { .. } => None,
        };
        let Some(mut opened) = self.open(session, user.as_ref())? else {
            return Err(self.refuse(session).into());
        };
        // Read before a write records the use, because a refusal undoes this record.
        let use_is_due = !opened.token_use_is_recorded();
        let observer = Observer::new(opened.token(), self.observed_write());
        let context = HandlerContext::new(&self.request, observer);
        let mut handle = || {
            self.require_known_parameters()?;
            if !self.mode.writes() {
                return self.with_permit((self.handler.run)(&mut opened, &context)?);
            }
            let reply = match idempotency::find_reply(&mut opened, &context)? {
                Some(earlier) => earlier,
                None => {
                    let reply = (self.handler.run)(&mut opened, &context)?;
                    idempotency::keep_reply(&mut opened, &context, &reply)?;
                    reply
                }
            };
            opened.record_token_use()?;
            self.with_permit(reply)
        };
        let result = handle();
        let is_recorded = match &result {
            Ok(_) => self.mode.writes(),
            // After a failure of the database, no further write is attempted.
            Err(error) => is_temporary(error),
        };
        JobOutput {
            result,
            observation: Box::new(context.observer.finish()),
            use_is_due: use_is_due && !is_recorded,
        }
        .into_outcome()
    }

    /// Opens the records of the sender; `None` if it may not use them. A token is authenticated in
    /// one query with the trainee where possible.
    fn open<'a>(
        &'a self,
        session: &'a mut Session<'_>,
        user: Option<&'a UploadSender>,
    ) -> Result<Option<ProviderSession<'a>>, ApiError> {
        let cause = self.request.cause();
        let trainee_id = self.request.trainee_id();
        let reads_by_key = matches!(self.mode, JobMode::LookUp | JobMode::Write);
        Ok(match &self.request.identity {
            Identity::User(_) => user.map(|user| session.open_to_upload(user, cause)),
            Identity::Token { digest, .. } if reads_by_key && !trainee_id.is_empty() => {
                session.authenticate_for_trainee(digest, cause, trainee_id)?
            }
            Identity::Token { digest, .. } => session.authenticate(digest, cause)?,
        })
    }

    /// The error of a sender that may not use the records.
    fn refuse(&self, session: &mut Session<'_>) -> ApiError {
        let Identity::Token { digest, .. } = &self.request.identity else {
            return ApiError::UploadStopped;
        };
        match session.refusal_of(digest) {
            Ok(refusal) => ApiError::Unauthorized(AuthenticationError::Refused(refusal)),
            Err(error) => error.into(),
        }
    }

    /// What is observed of a write that is also checked against the newest version.
    fn observed_write(&self) -> Option<Box<ObservedWrite>> {
        self.is_checked.then(|| {
            Box::new(ObservedWrite {
                part_id: self.request.nested_id().to_owned(),
                ..ObservedWrite::default()
            })
        })
    }

    /// Fails if the query has a parameter that is refused. Lists check their parameters themselves,
    /// so that one reply names all problems.
    fn require_known_parameters(&self) -> Result<(), ApiError> {
        if self.handler.access == Access::List {
            return Ok(());
        }
        query::require_known(self.request.refused_parameters()).map_err(ApiError::Filters)
    }

    /// Adds the permit for a large reply. Without one the changes are undone.
    fn with_permit(&self, reply: ApiResponse) -> Result<ApiResponse, ApiError> {
        let (request, bytes) = (&*self.request, reply.body.len());
        // A part has the permit of the whole.
        if request.is_part || bytes <= SMALL_REPLY_BYTES || reply.shared.is_some() {
            return Ok(reply);
        }
        let permit = match &self.permit {
            Some(permit) => Some(permit.clone()),
            None => {
                let sender = &request.state.reply_sender;
                sender.permit_for(request.client(), bytes)?
            }
        };
        Ok(ApiResponse { permit, ..reply })
    }
}

/// Whether the database failed, and may answer later.
fn is_temporary(error: &ApiError) -> bool {
    let failure = error.database_error();
    failure.is_some_and(DatabaseError::is_temporary)
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
    fn database_error(&self) -> Option<&DatabaseError> {
        self.result.as_ref().err()?.database_error()
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
