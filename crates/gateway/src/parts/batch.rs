//! Handles a batch: runs each item as a separate request, a few at once, and returns one reply with
//! their results in order.
//!
//! The handler processes each item in a separate transaction. A batch itself is not stored. If a
//! client repeats an interrupted batch, the keys of the items show which items were carried out.

use std::io::Write as _;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use adapter_kit::read::BatchItem;
use adapter_kit::{Endpoint, ProblemForm};
use futures_util::stream::{self, StreamExt as _};
use http_kit::limits::rate_limit::RemainingQuota;
use http_kit::metrics;
use http_kit::requests::authentication::AuthenticationError;
use http_kit::requests::body::{Body, batch_form};
use http_kit::requests::request_id;
use http_kit::responses::response_stream::{Reservation, Source};
use storage::base::cause::Cause;
use storage::base::sender::Sender;
use storage::base::token::TokenDigest;
use storage::session::{Session, ValidToken};

use crate::error::{ApiError, ErrorForm};
use crate::idempotency::IDEMPOTENT_REPLAYED;
use crate::job::record_token_use;
use crate::parts::{PARTS_PER_REQUEST, PartOutcome, run_part};
use crate::recording::observation::RequestObservation;
use crate::recording::{HandledRequest, RequestResult, record};
use crate::request::idempotency_key::IDEMPOTENCY_KEY;
use crate::request::{ApiRequest, query};
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// The maximum number of items of a batch that are handled at once, so that one batch does not fill
/// the queue of writes.
const ITEMS_AT_ONCE: usize = 8;
/// The maximum number of problems reported for one item. Without it, a body of normal size could
/// cause a reply that exceeds the memory budget.
const MAX_PROBLEMS: usize = 100;
/// The warning about an idempotency key of the batch as a whole.
const KEY_IGNORED: &str = "Idempotency-Key is ignored: each item of a batch has a key";

/// Handles a batch of requests for the endpoint, whose token was admitted. `remaining` is the rest
/// of the token's rate limit, and is updated.
///
/// In the totals, the batch counts as one request, and each name of another version in its
/// items counts once.
pub(crate) async fn handle(
    endpoint: Endpoint,
    state: &GatewayState,
    received: &HttpRequest,
    (token, request): (&TokenDigest, &ApiRequest),
    remaining: &mut Option<RemainingQuota>,
) -> (Result<ApiResponse, ApiError>, RequestObservation) {
    let mut observation = RequestObservation::default();
    let headers = received.headers();
    let reply = async {
        observation.token = authenticate(state, token).await?;
        query::require_known(request.refused_parameters()).map_err(ApiError::Filters)?;
        let (body, items) = request.batch_items(batch_form(headers))?;
        let requests = u32::try_from(items.len().div_ceil(PARTS_PER_REQUEST)).unwrap_or(u32::MAX);
        // If the batch is refused, the error contains the rest of the limit.
        *remaining = state
            .admission
            .count_batch(token, remaining.take(), requests)?;
        let form = ErrorForm::requested(headers, endpoint);
        let token = observation.token;
        let batch = Batch {
            state,
            request,
            endpoint,
            token,
            body,
            form,
        };
        let reply = batch.handle_items(items, &mut observation.names).await?;
        let ignored = headers
            .contains_key(IDEMPOTENCY_KEY)
            .then(|| KEY_IGNORED.to_owned());
        Ok(reply.with_warnings(ignored))
    };
    (reply.await, observation)
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
    state: &'a GatewayState,
    request: &'a ApiRequest,
    /// The endpoint that each item is a request for.
    endpoint: Endpoint,
    token: Option<ValidToken>,
    body: &'a Body,
    form: ErrorForm,
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
        &self,
        items: Vec<BatchItem<'_>>,
        names: &mut Vec<&'static str>,
    ) -> Result<ApiResponse, ApiError> {
        let mut replies = stream::iter((0..).zip(items))
            .map(|(position, item)| self.handle_item(position, item))
            .buffered(ITEMS_AT_ONCE);
        let mut body = b"{\"data\":[".to_vec();
        let mut reservation = Reservation::default();
        let mut is_first = true;
        while let Some(item) = replies.next().await {
            if !std::mem::take(&mut is_first) {
                body.push(b',');
            }
            item.write(&mut body).map_err(ApiError::unwritable)?;
            for name in item.names {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            if let Source::Counted(part) = item.reply.source {
                reservation.merge(part);
            }
        }
        body.extend_from_slice(b"]}");
        // Saves memory while the body waits for a slow client.
        body.shrink_to_fit();
        reservation.shrink(body.len());
        Ok(ApiResponse {
            source: Source::Counted(reservation),
            ..ApiResponse::new(StatusCode::OK, body)
        })
    }

    /// Runs an item unless it is invalid, and records it.
    async fn handle_item(&self, position: u32, item: BatchItem<'_>) -> ItemReply {
        let BatchItem {
            key,
            data,
            problems,
            notices,
        } = item;
        let PartOutcome {
            result,
            observation,
        } = match key.clone().filter(|_| problems.is_empty()) {
            Some(key) => self.run(&key, data).await,
            None => PartOutcome::refused(ApiError::Invalid(problems)),
        };
        let Self {
            state,
            request,
            endpoint,
            form,
            ..
        } = *self;
        let recorded = RequestResult::new(
            (request.served, request.lists),
            (endpoint, request.validates_only()),
            result.as_ref(),
        );
        let refuse = |mut failure: ApiError| {
            let left_out = shorten(&mut failure);
            let left_out =
                (left_out > 0).then(|| format!("{left_out} more problems are not shown"));
            failure
                .reply(request.served, request.lists, form)
                .with_warnings(left_out)
        };
        let reply = result.map_or_else(refuse, |reply| {
            reply.with_notices(request.version(), &notices)
        });
        metrics::batch_item(reply.status).increment(1);
        // A reply that is not counted yet is a refusal: nothing was stored for its item.
        let counted = reply.counted_as_part(&state.response_sender);
        let reply = counted.map_err(ApiError::from).unwrap_or_else(refuse);
        let names = observation.names.clone();
        if let Some(token) = self.token {
            let handled = HandledRequest {
                served: request.served,
                endpoint,
                provider_id: token.provider_id,
                sender: Sender::Token(token.id),
                item: Some(position),
                observation,
            };
            record(state, handled, recorded, &reply);
        }
        ItemReply { key, reply, names }
    }

    /// Runs an item as a separate request.
    async fn run(&self, key: &str, data: &str) -> PartOutcome {
        let Self {
            state,
            request,
            endpoint,
            body,
            ..
        } = *self;
        let item = request.to_item_request(state, endpoint, key, data, body);
        run_part(state, item, endpoint).await
    }
}

/// Removes the problems beyond [`MAX_PROBLEMS`] from a failure. Returns the number of removed ones.
fn shorten(failure: &mut ApiError) -> usize {
    let ApiError::Invalid(problems) = failure else {
        return 0;
    };
    let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    left_out
}

impl ItemReply {
    /// Writes the result as a JSON object: the key, the status, values from the headers, and the
    /// members of the reply's body.
    fn write(&self, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let Self { key, reply, .. } = self;
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
        // Problem details have their own `status`, so their members are not merged into the result.
        if values(CONTENT_TYPE.as_str())
            .any(|(_, media_type)| media_type == ProblemForm::Details.media_type())
        {
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
