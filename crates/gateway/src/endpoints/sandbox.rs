//! What a test run needs in a sandbox: it begins without trainees, and takes each of them to every
//! state, without an operator.
//!
//! The router leaves these endpoints out in production.

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

/// The trainees that one request discards at most, in one transaction.
const MOST_DISCARDED: i64 = 1_000;

/// For how long one request discards trainees: on a distant database each takes a while, and a
/// transaction has its time.
const TIME_TO_DISCARD: Duration = Duration::from_secs(3);

/// What became of the trainees.
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
        // A request of before must not be answered from memory with a trainee who is gone.
        session.forget_replies()?;
        for (number, trainee) in visible.trainees.iter().enumerate() {
            if begun.elapsed() > TIME_TO_DISCARD {
                discarded = number;
                break;
            }
            session.come_after_change(trainee);
            // Only a draft is refused, and no draft is visible.
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
        // The number that would be issued is drawn when it is.
        record.trn.clone_from(&stored.record.trn);
    } else {
        session.update_trainee(&stored, &record)?;
    }
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &record)?))
}

/// The state does not allow what the registry does next.
fn no_next_step(trainee: &Trainee) -> ApiError {
    let state = trainee.state_or_draft();
    ApiError::Invalid(vec![Problem::at(
        TraineeField::state,
        ProblemKind::NoNextStep { state },
    )])
}
