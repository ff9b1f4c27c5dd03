//! Answers a request for an endpoint: admits its token, reads the request, runs the handler in a
//! transaction, and returns the reply.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Endpoint, Served};
use chrono::{DateTime, Utc};
use http_kit::access_log;
use http_kit::limits::rate_limit::{RateLimitScope, RemainingQuota};
use http_kit::requests::authentication;
use http_kit::requests::preferences::{Preferences, VALIDATE_ONLY};
use http_kit::responses::response_stream::Source;
use storage::base::sender::Sender;
use storage::base::token::TokenDigest;
use storage::session::ValidToken;

use crate::endpoints::Handler;
use crate::error::{ApiError, ErrorForm};
use crate::job::run_in_transaction;
use crate::parts::batch;
use crate::recording::observation::RequestObservation;
use crate::recording::{HandledRequest, RequestResult, record};
use crate::request::{ApiRequest, PathIds};
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// The endpoint of a version that a request is for.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The handler of the endpoint.
    pub handler: Handler,
}

impl Route {
    /// Answers one request.
    pub(crate) async fn dispatch(
        self,
        state: Rc<GatewayState>,
        request: HttpRequest,
        ids: PathIds,
        payload: Payload,
    ) -> HttpResponse {
        let Self {
            served,
            endpoint,
            handler,
        } = self;
        let form = ErrorForm::requested(request.headers(), endpoint);
        let mut headers = ResponseHeaders::default();
        let result = match authentication::token(request.headers(), state.environment) {
            Ok(token) => {
                // Before the body is read, so that bodies with invented tokens use no memory.
                match admit(&state, &request, &token, &mut headers).await {
                    Ok(()) => {
                        let api_request = ApiRequest::extract(
                            &request,
                            token.clone(),
                            ids,
                            payload,
                            served,
                            endpoint,
                            &state,
                        )
                        .await;
                        headers.validates_only =
                            handler.access.writes() && api_request.validates_only();
                        headers.warnings = api_request.parameter_warnings();
                        let api_request = Arc::new(api_request);
                        self.run(&state, &request, &token, api_request, &mut headers)
                            .await
                    }
                    Err(error) => {
                        let preferences = Preferences::from_headers(request.headers());
                        headers.validates_only =
                            handler.access.writes() && preferences.validates_only;
                        let is_address_limited = matches!(
                            error,
                            ApiError::TooManyRequests {
                                whose: RateLimitScope::Address,
                                ..
                            }
                        );
                        // The body of an address beyond its limit is not even received.
                        if !is_address_limited {
                            state.bodies.discard(request.headers(), payload).await;
                        }
                        Err(error)
                    }
                }
            }
            Err(failure) => Err(state.admission.reject(&request, None, failure)),
        };
        let recorded = RequestResult::new(
            (served, state.lists),
            (endpoint, headers.validates_only),
            result.as_ref(),
        );
        let mut reply = result.unwrap_or_else(|error| error.reply(served, state.lists, form));
        if let Some(token) = headers.token {
            if matches!(reply.source, Source::Request) {
                reply.source = Source::AuthenticatedRequest;
            }
            let handled = HandledRequest {
                served,
                endpoint,
                provider_id: token.provider_id,
                sender: Sender::Token(token.id),
                item: None,
                observation: std::mem::take(&mut headers.observation),
            };
            record(&state, handled, recorded, &reply);
        }
        headers.add_to(reply, state.store.now()).into()
    }

    /// Runs the handler of an admitted request.
    async fn run(
        self,
        state: &GatewayState,
        request: &HttpRequest,
        token: &TokenDigest,
        api_request: Arc<ApiRequest>,
        headers: &mut ResponseHeaders,
    ) -> Result<ApiResponse, ApiError> {
        let Self {
            endpoint, handler, ..
        } = self;
        let (result, observation) = match endpoint.row().batch_of() {
            // On the heap, so that the futures of other requests stay small.
            Some(item) => {
                Box::pin(batch::handle(
                    item,
                    state,
                    request,
                    (token, &api_request),
                    &mut headers.remaining,
                ))
                .await
            }
            None => {
                let (result, observation, waited) =
                    run_until_changes(state, request, (endpoint, handler), token, &api_request)
                        .await;
                headers.waited = waited;
                (result, observation)
            }
        };
        if let Some(found) = observation.token {
            state.admission.remember(token, found);
            headers.token = Some(found);
        }
        headers.observation = observation;
        if let Err(ApiError::Unauthorized(failure)) = result {
            // The token has expired or was revoked since it was last used. The reply must equal
            // that for an unknown token, so it has no headers about the token.
            *headers = ResponseHeaders {
                validates_only: headers.validates_only,
                ..ResponseHeaders::default()
            };
            access_log::identify(request, None);
            return Err(state.admission.reject(request, Some(token), failure));
        }
        result
    }
}

/// Values for headers of the reply and for the record of the request that do not come from the
/// handler.
#[derive(Default)]
struct ResponseHeaders {
    /// The token of the request, if it is valid.
    token: Option<ValidToken>,
    /// The rest of the rate limit of the token, if it has a limit.
    remaining: Option<RemainingQuota>,
    /// Warnings that do not depend on the handler.
    warnings: Vec<String>,
    /// The time that the request could wait for changes, if it waited.
    waited: Option<Duration>,
    /// Whether the request was only validated.
    validates_only: bool,
    /// What was observed of the request, for its record.
    observation: RequestObservation,
}

impl ResponseHeaders {
    /// Adds the headers to a reply.
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
        if self.validates_only {
            reply.with("preference-applied", VALIDATE_ONLY)
        } else {
            reply
        }
    }
}

/// Admits the token of a request. Stores the token and the rest of its rate limit in `headers`.
async fn admit(
    state: &GatewayState,
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

/// The warning to a client whose token expires soon.
fn expiry_warning(token: ValidToken) -> String {
    format!(
        "this token expires on {}: from that day on it is refused",
        token.expires_on
    )
}

/// Like [`run_in_transaction`]. If the reply has no changes and the client prefers to wait, runs
/// the handler again until the reply has changes or the wait ends. Each run authenticates the
/// token. Also returns the longest possible wait; `None` if the request did not wait.
async fn run_until_changes(
    state: &GatewayState,
    request: &HttpRequest,
    (endpoint, handler): (Endpoint, Handler),
    token: &TokenDigest,
    api_request: &Arc<ApiRequest>,
) -> (
    Result<ApiResponse, ApiError>,
    RequestObservation,
    Option<Duration>,
) {
    let run = || {
        run_in_transaction(
            state,
            endpoint,
            handler,
            Arc::clone(api_request),
            ApiResponse::counted,
        )
    };
    let (mut reply, mut observation) = run().await;
    let has_no_changes = |reply: &Result<ApiResponse, ApiError>| {
        reply.as_ref().is_ok_and(|reply| !reply.has_changes)
    };
    let Some(wait) = api_request.wait.filter(|_| has_no_changes(&reply)) else {
        return (reply, observation, None);
    };
    let Some(poll) = state.long_polls.begin(token, wait) else {
        return (reply, observation, None);
    };
    access_log::set_waited(request);
    while has_no_changes(&reply) && poll.wait().await {
        (reply, observation) = run().await;
    }
    (reply, observation, Some(poll.longest_wait()))
}
