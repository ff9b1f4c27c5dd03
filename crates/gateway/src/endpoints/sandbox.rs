//! Endpoints for tests in a sandbox: they discard all trainees of a provider, and perform a
//! trainee's next step without an operator.
//!
//! The router omits these endpoints in production.

use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use adapter_kit::compose::Data;
use domain::{Problem, ProblemKind, Trainee, TraineeField, commands};
use registry::actions::{RegistryActionError, advance};
use serde::Serialize;
use storage::session::ProviderSession;

use super::trainees::{find_matching, show_trainee};
use crate::error::ApiError;
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// The maximum number of trainees that one request discards, in one transaction.
const MOST_DISCARDED: i64 = 1_000;

/// The maximum time for discarding trainees in one request. On a distant database each trainee
/// takes a while, and the duration of a transaction is limited.
const TIME_TO_DISCARD: Duration = Duration::from_secs(3);

/// The numbers of discarded and of remaining trainees.
#[derive(Serialize)]
struct Discarded {
    discarded: usize,
    remaining: i64,
}

/// `POST /sandbox/reset`
pub(super) fn reset(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let visible = session.visible_trainees(MOST_DISCARDED)?;
    let (mut discarded, begun) = (visible.trainees.len(), Instant::now());
    if !request.validates_only() {
        // A repeated earlier request must not get a stored reply that shows a discarded trainee.
        session.forget_replies()?;
        for (number, trainee) in visible.trainees.iter().enumerate() {
            if begun.elapsed() > TIME_TO_DISCARD {
                discarded = number;
                break;
            }
            session.come_after_change(trainee);
            // The reset refuses only drafts, and drafts are not visible.
            let decision = commands::registry::reset(&trainee.record, session.change_date())
                .map_err(|_| no_next_step(&trainee.record))?;
            session.update_trainee(trainee, &decision.record)?;
        }
    }
    let left = i64::try_from(visible.trainees.len() - discarded).unwrap_or(i64::MAX);
    let data = Discarded {
        discarded,
        remaining: visible.others.saturating_add(left),
    };
    Ok(ApiResponse::json(StatusCode::OK, &Data { data })?)
}

/// `POST /sandbox/trainees/{trainee_id}/advance`
pub(super) fn advance_trainee(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let stored = find_matching(session, request)?;
    let decision = match advance(session, &stored.record) {
        Ok(decision) => decision.ok_or_else(|| no_next_step(&stored.record))?,
        Err(RegistryActionError::Storage(error)) => return Err(error.into()),
        Err(
            RegistryActionError::Refused(_)
            | RegistryActionError::UnknownTrainee
            | RegistryActionError::NumberRequired
            | RegistryActionError::Erased,
        ) => {
            return Err(no_next_step(&stored.record));
        }
    };
    let mut record = decision.record;
    if request.validates_only() {
        // Not the new TRN: another one will be drawn when the step is performed.
        record.trn.clone_from(&stored.record.trn);
    } else {
        session.update_trainee(&stored, &record)?;
    }
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &record)?))
}

/// The error for a trainee whose state has no next step.
fn no_next_step(trainee: &Trainee) -> ApiError {
    let state = trainee.state_or_draft();
    ApiError::Invalid(vec![Problem::at(
        TraineeField::state,
        ProblemKind::NoNextStep { state },
    )])
}
