//! Handles a batch: runs each item as a separate request, a few at once, and returns one reply with
//! their results in order.
//!
//! The handler processes each item in a separate transaction. A batch itself is not stored. If a
//! client repeats an interrupted batch, the keys of the items show which items were carried out.

use std::io::Write as _;
use std::sync::Arc;

use actix_web::http::StatusCode;
use adapter_kit::ProblemForm;
use adapter_kit::read::BatchItem;
use futures_util::stream::{self, StreamExt as _};
use http_kit::limits::permits::Permit;
use http_kit::limits::rate_limit::RemainingQuota;
use http_kit::metrics;
use http_kit::requests::body::Body;
use http_kit::requests::request_id;
use http_kit::responses::sending::NoPermit;
use storage::base::cause::Cause;
use storage::base::token::TokenDigest;
use storage::session::{Session, ValidToken};

use crate::error::ApiError;
use crate::idempotency::IDEMPOTENT_REPLAYED;
use crate::job::{PERMIT_WAIT, record_token_use, run};
use crate::outcome::{Outcome, Requested};
use crate::parts::PARTS_PER_REQUEST;
use crate::recording::observation::RequestObservation;
use crate::request::authentication::AuthenticationError;
use crate::request::identity::Identity;
use crate::request::{ApiRequest, query};
use crate::respond::respond;
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// The maximum number of items of a batch that are handled at once, so that one batch does not fill
/// the queue of writes.
const ITEMS_AT_ONCE: usize = 8;
/// The warning about an idempotency key of the batch as a whole.
const KEY_IGNORED: &str = "Idempotency-Key is ignored: each item of a batch has a key";

/// Calls the handler for each item of a batch.
///
/// In the totals, the batch counts as one request, and each name of another version in its
/// items counts once.
pub(crate) async fn call_items(request: &ApiRequest) -> Outcome {
    let mut observation = RequestObservation {
        token: request.identity.token(),
        ..RequestObservation::default()
    };
    let mut remaining = request.remaining;
    let result = handle(request, &mut observation, &mut remaining).await;
    let warning = (result.is_ok() && request.has_key).then(|| KEY_IGNORED.to_owned());
    Outcome {
        remaining,
        warnings: warning.into_iter().collect(),
        ..Outcome::new(result, observation)
    }
}

/// Handles the items of a batch, unless it is refused as a whole.
async fn handle(
    request: &ApiRequest,
    observation: &mut RequestObservation,
    remaining: &mut Option<RemainingQuota>,
) -> Result<ApiResponse, ApiError> {
    let state = &request.state;
    let Identity::Token { digest: token, .. } = &request.identity else {
        return Err(ApiError::UploadStopped);
    };
    observation.token = authenticate(state, token).await?;
    if let Some(found) = observation.token {
        state.admission.remember(token, found);
    }
    query::require_known(request.refused_parameters()).map_err(ApiError::Filters)?;
    let (body, items) = request.batch_items()?;
    // Acquired before the batch is counted and its first item is carried out.
    let permits = &state.reply_sender.batches;
    let permit = permits.acquire(request.client(), PERMIT_WAIT).await;
    let permit = permit.ok_or(NoPermit)?;
    let requests = u32::try_from(items.len().div_ceil(PARTS_PER_REQUEST)).unwrap_or(u32::MAX);
    // If the batch is refused, the error contains the rest of the limit.
    *remaining = state
        .admission
        .count_batch(token, remaining.take(), requests)?;
    let batch = Batch {
        request,
        body,
        permit,
    };
    batch.handle_items(items, &mut observation.names).await
}

/// Authenticates the token before any other reply to the batch, because the token may have expired
/// or been revoked since it was last used. Records the use of the token if that is due.
async fn authenticate(
    state: &GatewayState,
    token: &TokenDigest,
) -> Result<Option<ValidToken>, ApiError> {
    let digest = token.clone();
    let job = move |session: &mut Session<'_>| {
        if let Some(opened) = session.authenticate(&digest, Cause::new("batch"))? {
            return Ok((opened.token(), !opened.token_use_is_recorded()));
        }
        let refusal = session.refusal_of(&digest)?;
        Err(ApiError::Unauthorized(AuthenticationError::Refused(
            refusal,
        )))
    };
    let (valid, use_is_due) = state.store.look_up(job).await?;
    if use_is_due {
        // Otherwise each item that is only validated would record the use.
        record_token_use(
            state.store.clone(),
            token.clone(),
            request_id::for_the_log(),
        )
        .await;
    }
    Ok(valid)
}

/// The data that all items of a batch share.
struct Batch<'a> {
    request: &'a ApiRequest,
    body: &'a Body,
    /// The permit of the reply.
    permit: Permit,
}

/// The reply to an item.
struct ItemReply {
    /// The idempotency key of the item; `None` if it is invalid.
    key: Option<String>,
    reply: ApiResponse,
    /// The names of other versions in the item.
    names: Vec<&'static str>,
}

impl Batch<'_> {
    /// Handles the items, and collects the names of other versions in them.
    async fn handle_items(
        self,
        items: Vec<BatchItem<'_>>,
        names: &mut Vec<&'static str>,
    ) -> Result<ApiResponse, ApiError> {
        let mut replies = stream::iter((0..).zip(items))
            .map(|(position, item)| self.handle_item(position, item))
            .buffered(ITEMS_AT_ONCE);
        let mut body = b"{\"data\":[".to_vec();
        let form = &self.request.version().wire.problems;
        let mut is_first = true;
        while let Some(item) = replies.next().await {
            if !std::mem::take(&mut is_first) {
                body.push(b',');
            }
            item.write(form, &mut body).map_err(ApiError::unwritable)?;
            for name in item.names {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        drop(replies);
        body.extend_from_slice(b"]}");
        // Saves memory while the body waits for a slow client.
        body.shrink_to_fit();
        Ok(ApiResponse {
            permit: Some(self.permit),
            ..ApiResponse::new(StatusCode::OK, body)
        })
    }

    /// Calls the handler for an item unless it is invalid, and records it.
    async fn handle_item(&self, position: u32, item: BatchItem<'_>) -> ItemReply {
        let BatchItem {
            key,
            data,
            problems,
            notices,
        } = item;
        let request = self.request;
        let outcome = match key.as_deref().filter(|_| problems.is_empty()) {
            Some(key) => {
                let item = request.to_item_request(key, data, self.body);
                run(&Arc::new(item)).await
            }
            None => Outcome::from(ApiError::Invalid(problems)),
        };
        let version = request.version();
        let outcome = Outcome {
            result: outcome
                .result
                .map(|reply| reply.with_notices(version, &notices)),
            sender: Some(request.identity.recorded()),
            ..outcome
        };
        let names = outcome.observation.names.clone();
        let requested = Requested {
            served: request.served,
            endpoint: request.handled_endpoint(),
            form: request.form,
            validates_only: request.validates_only(),
            item: Some(position),
        };
        let reply = respond(&request.state, requested, outcome);
        metrics::batch_item(reply.status).increment(1);
        ItemReply { key, reply, names }
    }
}

impl ItemReply {
    /// Writes the result as a JSON object: the key, the status, values from the headers, and the
    /// members of the reply's body. `form` is the form of errors of the version.
    fn write(&self, form: &ProblemForm, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let Self { key, reply, .. } = self;
        let is_error = reply.status.is_client_error() || reply.status.is_server_error();
        body.extend_from_slice(b"{\"idempotency_key\":");
        serde_json::to_writer(&mut *body, key)?;
        write!(body, ",\"status\":{}", reply.status.as_u16()).map_err(serde_json::Error::io)?;
        let values = |name: &'static str| {
            reply
                .headers
                .iter()
                .filter(move |(header, _)| header == name)
        };
        let warnings: Vec<_> = reply.warnings().collect();
        if !warnings.is_empty() {
            body.extend_from_slice(b",\"warnings\":");
            serde_json::to_writer(&mut *body, &warnings)?;
        }
        if values(IDEMPOTENT_REPLAYED).next().is_some() {
            body.extend_from_slice(b",\"replayed\":true");
        }
        // Only errors in the common form are merged into the result. Problem details have their own
        // `status`.
        if is_error && !form.is_common() {
            body.extend_from_slice(b",\"problem\":");
            body.extend_from_slice(&reply.body);
            body.push(b'}');
            return Ok(());
        }
        // The body of every reply is an object: without its first brace, it continues the result.
        match reply
            .body
            .strip_prefix(b"{")
            .filter(|members| members.len() > 1)
        {
            Some(members) => {
                body.push(b',');
                body.extend_from_slice(members);
            }
            None => body.push(b'}'),
        }
        Ok(())
    }
}
