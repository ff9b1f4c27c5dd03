//! Answers a request in five steps: authenticate, admit, extract, call, respond.

use std::sync::Arc;

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use adapter_kit::{Endpoint, Served};
use http_kit::requests::preferences::Preferences;
use storage::base::token::TokenDigest;

use crate::access_log;
use crate::admission::client_of_token;
use crate::endpoints::handler;
use crate::error::{ApiError, ErrorForm};
use crate::job::run;
use crate::outcome::{Outcome, Requested};
use crate::parts::batch;
use crate::request::identity::Identity;
use crate::request::{ApiRequest, PathIds, authentication};
use crate::respond::respond;
use crate::state::GatewayState;

/// Answers one request.
pub(crate) async fn answer(
    state: Arc<GatewayState>,
    (served, endpoint): (&'static Served, Endpoint),
    request: HttpRequest,
    ids: PathIds,
    payload: Payload,
) -> HttpResponse {
    let requested = Requested {
        served,
        endpoint,
        form: ErrorForm::requested(
            request.headers(),
            endpoint.row().batch_of().unwrap_or(endpoint),
        ),
        validates_only: handler(endpoint).access.writes()
            && Preferences::from_headers(request.headers()).validates_only,
        item: None,
    };
    let steps = async {
        let token = authenticate(&state, &request)?;
        let admitted = state.admission.admit(&state.store, &request, token).await?;
        let token = admitted.token.clone();
        access_log::identify(&request, Some(admitted.valid.id));
        let extract = ApiRequest::extract(&request, requested, admitted, ids, payload, &state);
        let api_request = Arc::new(extract.await);
        let outcome = call(&api_request).await;
        if outcome.waited.is_some() {
            access_log::set_waited(&request);
        }
        Ok(refuse_ended_token(&state, &request, &token, outcome))
    };
    let outcome = steps.await.unwrap_or_else(|refused: Outcome| refused);
    let token = outcome.observation.token;
    access_log::identify(&request, token.map(|token| token.id));
    let mut response = HttpResponse::from(respond(&state, requested, outcome));
    if let Some(token) = token {
        response.extensions_mut().insert(client_of_token(token));
    }
    response
}

/// The digest of the token in the request.
fn authenticate(state: &GatewayState, request: &HttpRequest) -> Result<TokenDigest, ApiError> {
    authentication::token(request.headers(), state.environment)
        .map_err(|failure| state.admission.reject(request, None, failure))
}

/// Refuses a request whose token has expired or was revoked since it was admitted. The reply must
/// equal that for an unknown token, so it has no headers about the token.
fn refuse_ended_token(
    state: &GatewayState,
    request: &HttpRequest,
    token: &TokenDigest,
    outcome: Outcome,
) -> Outcome {
    match outcome.result {
        Err(ApiError::Unauthorized(failure)) => {
            let error = state.admission.reject(request, Some(token), failure);
            Outcome::from(error)
        }
        Ok(_) | Err(_) => outcome,
    }
}

/// Calls the handler of a request, or of each item of a batch.
///
/// If the reply has no changes and the client prefers to wait, calls it again until there are
/// changes or the wait ends.
async fn call(request: &Arc<ApiRequest>) -> Outcome {
    let state = &request.state;
    let mut outcome = if request.is_batch() {
        // On the heap, so that the futures of other requests stay small.
        Box::pin(batch::call_items(request)).await
    } else {
        run(request).await
    };
    let has_no_changes = |outcome: &Outcome| {
        outcome
            .result
            .as_ref()
            .is_ok_and(|reply| !reply.has_changes)
    };
    if let (Some(wait), Identity::Token { digest, .. }) = (request.wait, &request.identity)
        && has_no_changes(&outcome)
        && let Some(poll) = state.long_polls.begin(digest, wait)
    {
        while has_no_changes(&outcome) && poll.wait().await {
            outcome = run(request).await;
        }
        outcome.waited = Some(poll.longest_wait());
    }
    outcome.warnings.extend(request.parameter_warnings());
    outcome
}
