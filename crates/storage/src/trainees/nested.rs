//! The rows that belong to a trainee: disabilities, withdrawals, placements and degrees.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::{Degree, Placement, State, Trainee};

use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::{degrees, placements, trainee_disabilities, withdrawals};

pub(super) fn insert_disabilities(
    connection: &mut DatabaseConnection,
    key: i64,
    trainee: &Trainee,
) -> Result<(), StorageError> {
    for (position, code) in (1_i32..).zip(trainee.disabilities()) {
        let Some(code) = code else { continue };
        diesel::insert_into(trainee_disabilities::table)
            .values((
                trainee_disabilities::trainee_key.eq(key),
                trainee_disabilities::position.eq(position),
                trainee_disabilities::code.eq(code),
            ))
            .execute(connection)?;
    }
    Ok(())
}

pub(super) fn delete_disabilities(connection: &mut DatabaseConnection, key: i64) -> Result<(), StorageError> {
    diesel::delete(trainee_disabilities::table.filter(trainee_disabilities::trainee_key.eq(key)))
        .execute(connection)?;
    Ok(())
}

/// Adds a withdrawal when the change is one.
pub(super) fn record_withdrawal(
    connection: &mut DatabaseConnection,
    key: i64,
    before: &Trainee,
    after: &Trainee,
    now: DateTime<Utc>,
) -> Result<(), StorageError> {
    if before.state == after.state || after.state != Some(State::Withdrawn) {
        return Ok(());
    }
    diesel::insert_into(withdrawals::table)
        .values((
            withdrawals::trainee_key.eq(key),
            withdrawals::previous_state.eq(before.state.unwrap_or(State::Draft).name()),
            withdrawals::withdrawal_date.eq(after.withdrawal_date),
            withdrawals::trigger.eq(after.withdrawal_trigger.as_deref()),
            withdrawals::future_interest.eq(after.withdrawal_future_interest.as_deref()),
            withdrawals::reasons.eq(after.withdrawal_reasons.as_deref().unwrap_or_default().join(" ")),
            withdrawals::another_reason.eq(after.withdrawal_another_reason.as_deref()),
            withdrawals::safeguarding_concern_reasons.eq(after.withdrawal_safeguarding_concern_reasons.as_deref()),
            withdrawals::created_at.eq(now.naive_utc()),
        ))
        .execute(connection)?;
    Ok(())
}

pub(super) fn insert_placement(
    connection: &mut DatabaseConnection,
    key: i64,
    placement: &Placement,
) -> Result<(), StorageError> {
    diesel::insert_into(placements::table)
        .values((
            placements::trainee_key.eq(key),
            placements::placement_id.eq(placement.placement_id.as_deref().unwrap_or_default()),
            placements::urn.eq(placement.urn.as_deref()),
            placements::name.eq(placement.name.as_deref()),
            placements::postcode.eq(placement.postcode.as_deref()),
            placements::school_id.eq(placement.school_id),
            placements::created_at.eq(placement.created_at.map(|moment| moment.naive_utc())),
            placements::updated_at.eq(placement.updated_at.map(|moment| moment.naive_utc())),
        ))
        .execute(connection)?;
    Ok(())
}

pub(super) fn insert_degree(
    connection: &mut DatabaseConnection,
    key: i64,
    degree: &Degree,
) -> Result<(), StorageError> {
    diesel::insert_into(degrees::table)
        .values((
            degrees::trainee_key.eq(key),
            degrees::degree_id.eq(degree.degree_id.as_deref().unwrap_or_default()),
            degrees::uk_degree.eq(degree.uk_degree.as_deref()),
            degrees::non_uk_degree.eq(degree.non_uk_degree.as_deref()),
            degrees::subject.eq(degree.subject.as_deref()),
            degrees::institution.eq(degree.institution.as_deref()),
            degrees::graduation_year.eq(degree.graduation_year.map(|year| year.0)),
            degrees::grade.eq(degree.grade.as_deref()),
            degrees::other_grade.eq(degree.other_grade.as_deref()),
            degrees::country.eq(degree.country.as_deref()),
            degrees::created_at.eq(degree.created_at.map(|moment| moment.naive_utc())),
            degrees::updated_at.eq(degree.updated_at.map(|moment| moment.naive_utc())),
        ))
        .execute(connection)?;
    Ok(())
}
