//! Makes the reply to a request from the outcome of its call, and records it.

use std::time::Duration;

use http_kit::limits::rate_limit::{RateLimitScope, RemainingQuota};
use http_kit::requests::preferences::VALIDATE_ONLY;
use storage::base::sender::Sender;
use storage::session::ValidToken;

use crate::error::ApiError;
use crate::outcome::{Outcome, Requested};
use crate::recording::{HandledRequest, RequestResult, record};
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// The maximum number of problems reported for one item. Without it, a body of normal size could
/// cause a reply of many megabytes.
const MAX_PROBLEMS_OF_ITEM: usize = 100;

/// Makes the reply to a request, an item of a batch or a row of a file, and records it.
pub(crate) fn respond(
    state: &GatewayState,
    requested: Requested,
    mut outcome: Outcome,
) -> ApiResponse {
    let (served, endpoint) = (requested.served, requested.endpoint);
    let checked = (endpoint, requested.validates_only);
    let recorded = RequestResult::new((served, state.lists), checked, outcome.result.as_ref());
    if let (Err(error), Some(_)) = (&mut outcome.result, requested.item) {
        let left_out = error.shorten(MAX_PROBLEMS_OF_ITEM);
        let warning = format!("{left_out} more problems are not shown");
        outcome.warnings.extend((left_out > 0).then_some(warning));
    }
    let refuse = |error: ApiError| error.reply(served, state.lists, requested.form);
    let reply = outcome.result.unwrap_or_else(refuse);
    let token = outcome
        .observation
        .token
        .filter(|_| requested.item.is_none());
    // A row of a file is sent again after a failure of the service, and recorded then.
    let is_sent_again = |sender: &(i64, Sender)| {
        matches!(sender.1, Sender::User(_)) && reply.status.is_server_error()
    };
    if let Some((provider_id, sender)) = outcome.sender.filter(|sender| !is_sent_again(sender)) {
        let handled = HandledRequest {
            served,
            endpoint,
            provider_id,
            sender,
            item: requested.item,
            observation: outcome.observation,
        };
        record(state, handled, recorded, &reply);
    }
    let expiring = token.filter(|token| token.expires_soon(state.store.now()));
    let reply = reply.with_warnings(outcome.warnings);
    let reply = with_token_headers(reply, outcome.remaining, expiring);
    with_preferences(reply, outcome.waited, requested.validates_only)
}

/// Adds the rest of the rate limit of the token, and a warning if it expires soon.
fn with_token_headers(
    mut reply: ApiResponse,
    remaining: Option<RemainingQuota>,
    expiring: Option<ValidToken>,
) -> ApiResponse {
    if let Some(remaining) = remaining {
        reply = reply.with_rate_limit(RateLimitScope::Token, remaining);
    }
    match expiring {
        Some(token) => reply.with_first_warning(&expiry_warning(token)),
        None => reply,
    }
}

/// Adds the preferences of the client that were applied.
fn with_preferences(
    mut reply: ApiResponse,
    waited: Option<Duration>,
    validates_only: bool,
) -> ApiResponse {
    const APPLIED: &str = "preference-applied";
    if let Some(wait) = waited {
        reply = reply.with(APPLIED, format!("wait={}", wait.as_secs()));
    }
    match validates_only {
        true => reply.with(APPLIED, VALIDATE_ONLY),
        false => reply,
    }
}

/// The warning to a client whose token expires soon.
fn expiry_warning(token: ValidToken) -> String {
    format!(
        "this token expires on {}: from that day on it is refused",
        token.expires_on
    )
}
