//! The rows that belong to a trainee: disabilities, withdrawals, placements and degrees.

use chrono::{DateTime, NaiveDateTime, Utc};
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

/// Adds a withdrawal when the change is one, and marks the last one as undone when the change undoes it.
pub(super) fn record_withdrawal(
    connection: &mut DatabaseConnection,
    key: i64,
    before: &Trainee,
    after: &Trainee,
    now: DateTime<Utc>,
) -> Result<(), StorageError> {
    let (was, is) = (before.state == Some(State::Withdrawn), after.state == Some(State::Withdrawn));
    if was == is {
        return Ok(());
    }
    if was {
        let standing = withdrawals::trainee_key.eq(key).and(withdrawals::undone_at.is_null());
        diesel::update(withdrawals::table.filter(standing))
            .set(withdrawals::undone_at.eq(now.naive_utc()))
            .execute(connection)?;
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

/// The columns of a placement that a request can change.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = placements, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct PlacementColumns<'a> {
    urn: Option<&'a str>,
    name: Option<&'a str>,
    postcode: Option<&'a str>,
    school_id: Option<i64>,
    updated_at: Option<NaiveDateTime>,
}

impl<'a> PlacementColumns<'a> {
    pub(super) fn of(placement: &'a Placement) -> Self {
        Self {
            urn: placement.urn.as_deref(),
            name: placement.name.as_deref(),
            postcode: placement.postcode.as_deref(),
            school_id: placement.school_id,
            updated_at: placement.updated_at.map(|moment| moment.naive_utc()),
        }
    }
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
            placements::created_at.eq(placement.created_at.map(|moment| moment.naive_utc())),
            PlacementColumns::of(placement),
        ))
        .execute(connection)?;
    Ok(())
}

/// The columns of a degree that a request can change.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = degrees, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct DegreeColumns<'a> {
    uk_degree: Option<&'a str>,
    non_uk_degree: Option<&'a str>,
    subject: Option<&'a str>,
    institution: Option<&'a str>,
    graduation_year: Option<i64>,
    grade: Option<&'a str>,
    other_grade: Option<&'a str>,
    country: Option<&'a str>,
    updated_at: Option<NaiveDateTime>,
}

impl<'a> DegreeColumns<'a> {
    pub(super) fn of(degree: &'a Degree) -> Self {
        Self {
            uk_degree: degree.uk_degree.as_deref(),
            non_uk_degree: degree.non_uk_degree.as_deref(),
            subject: degree.subject.as_deref(),
            institution: degree.institution.as_deref(),
            graduation_year: degree.graduation_year.map(|year| year.0),
            grade: degree.grade.as_deref(),
            other_grade: degree.other_grade.as_deref(),
            country: degree.country.as_deref(),
            updated_at: degree.updated_at.map(|moment| moment.naive_utc()),
        }
    }
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
            degrees::created_at.eq(degree.created_at.map(|moment| moment.naive_utc())),
            DegreeColumns::of(degree),
        ))
        .execute(connection)?;
    Ok(())
}
