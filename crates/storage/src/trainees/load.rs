//! Rows to whole trainees: one query for each kind of row, however many trainees there are.

use std::collections::HashMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use domain::value::Year;
use domain::{Degree, Placement, Trainee};

use super::columns::Columns;
use super::{StoredTrainee, imported};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::{degrees, placements, schools, trainee_disabilities, withdrawals};

/// Key, revision, identifier, imported facts and columns of one trainee.
pub(super) type Row = (i64, i64, String, Option<String>, Columns);

/// Whether placements and degrees are loaded too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nested {
    With,
    Without,
}

/// The trainees of the rows, in their order.
pub(super) fn load(
    connection: &mut DatabaseConnection,
    rows: Vec<Row>,
    ukprn: &str,
    nested: Nested,
) -> Result<Vec<StoredTrainee>, StorageError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut places = HashMap::with_capacity(rows.len());
    let mut trainees = Vec::with_capacity(rows.len());
    for (place, (key, revision, trainee_id, facts, columns)) in rows.into_iter().enumerate() {
        let mut record = columns.into_trainee().ok_or(StorageError::CorruptRow { table: "trainees", id: key })?;
        record.trainee_id = Some(trainee_id);
        record.ukprn = Some(ukprn.to_owned());
        if let Some(facts) = facts {
            imported::restore(&mut record, &facts, key)?;
        }
        places.insert(key, place);
        trainees.push(StoredTrainee { record, key, revision });
    }
    let mut of = Owners { trainees: &mut trainees, places: &places };
    let keys: Vec<i64> = places.keys().copied().collect();
    disabilities(connection, &keys, &mut of)?;
    withdrawals(connection, &keys, &mut of)?;
    if nested == Nested::With {
        placements(connection, &keys, &mut of)?;
        degrees(connection, &keys, &mut of)?;
    }
    Ok(trainees)
}

/// The trainees by key.
struct Owners<'a> {
    trainees: &'a mut [StoredTrainee],
    places: &'a HashMap<i64, usize>,
}

impl Owners<'_> {
    fn owner(&mut self, key: i64) -> Option<&mut Trainee> {
        let place = *self.places.get(&key)?;
        self.trainees.get_mut(place).map(|trainee| &mut trainee.record)
    }
}

fn disabilities(connection: &mut DatabaseConnection, keys: &[i64], of: &mut Owners<'_>) -> Result<(), StorageError> {
    let rows = trainee_disabilities::table
        .filter(trainee_disabilities::trainee_key.eq_any(keys))
        .load::<(i64, i32, String)>(connection)?;
    for (key, position, code) in rows {
        let corrupt = StorageError::CorruptRow { table: "trainee_disabilities", id: key };
        let Some(owner) = of.owner(key) else { continue };
        let place = usize::try_from(position - 1).ok().and_then(|at| owner.disabilities_mut().into_iter().nth(at));
        *place.ok_or(corrupt)? = Some(code);
    }
    Ok(())
}

/// The latest withdrawal that was not undone.
fn withdrawals(connection: &mut DatabaseConnection, keys: &[i64], of: &mut Owners<'_>) -> Result<(), StorageError> {
    let rows = withdrawals::table
        .filter(withdrawals::trainee_key.eq_any(keys))
        .filter(withdrawals::undone_at.is_null())
        .order(withdrawals::id)
        .select((
            withdrawals::trainee_key,
            withdrawals::withdrawal_date,
            withdrawals::trigger,
            withdrawals::future_interest,
            withdrawals::reasons,
            withdrawals::another_reason,
            withdrawals::safeguarding_concern_reasons,
        ))
        .load(connection)?;
    for (key, date, trigger, future_interest, reasons, another_reason, safeguarding) in rows {
        let reasons: String = reasons;
        let Some(owner) = of.owner(key) else { continue };
        owner.withdrawal_date = date;
        owner.withdrawal_trigger = trigger;
        owner.withdrawal_future_interest = future_interest;
        owner.withdrawal_reasons = Some(reasons.split_whitespace().map(str::to_owned).collect());
        owner.withdrawal_another_reason = another_reason;
        owner.withdrawal_safeguarding_concern_reasons = safeguarding;
    }
    Ok(())
}

/// A placement in a known school has the school's name and postcode, also when they have changed since.
fn placements(connection: &mut DatabaseConnection, keys: &[i64], of: &mut Owners<'_>) -> Result<(), StorageError> {
    type School = Option<(i64, String, Option<String>)>;
    type Found = (
        i64,
        String,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<NaiveDateTime>,
        Option<NaiveDateTime>,
        School,
    );
    let rows = placements::table
        .left_join(schools::table)
        .filter(placements::trainee_key.eq_any(keys))
        .order((placements::created_at, placements::id))
        .select((
            placements::trainee_key,
            placements::placement_id,
            placements::urn,
            placements::name,
            placements::postcode,
            placements::created_at,
            placements::updated_at,
            (schools::id, schools::name, schools::postcode).nullable(),
        ))
        .load::<Found>(connection)?;
    for (key, placement_id, urn, name, postcode, created_at, updated_at, school) in rows {
        let Some(owner) = of.owner(key) else { continue };
        let (school_id, name, postcode) = match school {
            Some((id, name, postcode)) => (Some(id), Some(name), postcode),
            None => (None, name, postcode),
        };
        owner.placements.push(Placement {
            placement_id: Some(placement_id),
            urn,
            name,
            postcode,
            school_id,
            created_at: created_at.map(|moment| moment.and_utc()),
            updated_at: updated_at.map(|moment| moment.and_utc()),
        });
    }
    Ok(())
}

fn degrees(connection: &mut DatabaseConnection, keys: &[i64], of: &mut Owners<'_>) -> Result<(), StorageError> {
    type Found = (
        i64,
        String,
        (Option<String>, Option<String>, Option<String>, Option<String>),
        Option<i64>,
        (Option<String>, Option<String>, Option<String>),
        (Option<NaiveDateTime>, Option<NaiveDateTime>),
    );
    let rows = degrees::table
        .filter(degrees::trainee_key.eq_any(keys))
        // Those without a year come first. Left alone, the two databases put them at different ends.
        .order((degrees::graduation_year.is_not_null(), degrees::graduation_year, degrees::created_at, degrees::id))
        .select((
            degrees::trainee_key,
            degrees::degree_id,
            (degrees::uk_degree, degrees::non_uk_degree, degrees::subject, degrees::institution),
            degrees::graduation_year,
            (degrees::grade, degrees::other_grade, degrees::country),
            (degrees::created_at, degrees::updated_at),
        ))
        .load::<Found>(connection)?;
    for (key, degree_id, (uk_degree, non_uk_degree, subject, institution), year, words, times) in rows {
        let Some(owner) = of.owner(key) else { continue };
        let (grade, other_grade, country) = words;
        owner.degrees.push(Degree {
            degree_id: Some(degree_id),
            uk_degree,
            non_uk_degree,
            subject,
            institution,
            graduation_year: year.map(Year),
            grade,
            other_grade,
            country,
            created_at: times.0.map(|moment| moment.and_utc()),
            updated_at: times.1.map(|moment| moment.and_utc()),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, NaiveDate, TimeDelta};
    use diesel::connection::SimpleConnection as _;
    use domain::State;
    use test_support::Kind;

    use super::*;
    use crate::history::Cause;
    use crate::testing::{Register, UKPRN};

    #[test]
    fn degrees_are_shown_by_year_and_those_without_one_first() {
        let register = Register::with_provider();
        let moment = DateTime::from_timestamp(1_770_000_000, 0);
        let degree = |(number, year): (usize, Option<i64>)| Degree {
            degree_id: Some(format!("degree {number}")),
            graduation_year: year.map(Year),
            created_at: moment,
            updated_at: moment,
            ..Degree::default()
        };
        let years = [Some(2021), None, Some(1999), None];
        let trainee = Trainee {
            trainee_id: Some("trainee".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: moment,
            updated_at: moment,
            degrees: years.into_iter().enumerate().map(degree).collect(),
            ..Trainee::default()
        };
        let found = register.write(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
            provider.insert_trainee(&trainee)?;
            Ok(provider.find_trainee("trainee")?.unwrap())
        });
        let shown: Vec<_> = found.unwrap().record.degrees.into_iter().map(|degree| degree.degree_id.unwrap()).collect();
        assert_eq!(shown, ["degree 1", "degree 3", "degree 2", "degree 0"]);
    }

    #[test]
    fn no_trainee_is_found_by_what_no_identifier_has() {
        let register = Register::with_provider();
        let found =
            register.read(|session| session.open_provider(UKPRN, Cause::of("test"))?.unwrap().find_trainee("a\0b"));
        assert!(found.unwrap().is_none());
    }

    #[test]
    fn what_changes_a_trainee_is_dated_after_its_last_change_also_where_the_clock_is_behind() {
        let register = Register::with_provider();
        let earlier = register.write(|session| Ok(session.now())).unwrap();
        let last_change = earlier + TimeDelta::hours(1);
        let now = register.write(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
            provider.insert_trainee(&Trainee {
                trainee_id: Some("trainee".to_owned()),
                state: Some(State::SubmittedForTrn),
                created_at: Some(last_change),
                updated_at: Some(last_change),
                ..Trainee::default()
            })?;
            let before = provider.now();
            provider.find_trainee("trainee")?;
            Ok((before, provider.now()))
        });
        let (before, after) = now.unwrap();
        assert!(before < last_change);
        assert_eq!(after, last_change + TimeDelta::milliseconds(1));
        let seen = register.read(|session| {
            let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
            provider.find_trainee("trainee")?;
            Ok(provider.now())
        });
        // Who only reads changes nothing that would have to come after.
        assert!(seen.unwrap() < last_change);
    }

    #[test]
    fn nobody_changes_a_trainee_on_postgres_who_is_being_shown_as_a_duplicate() {
        if Kind::of_this_run() != Kind::Postgres {
            return;
        }
        let register = Register::with_provider();
        let trainee = Trainee {
            trainee_id: Some("trainee".to_owned()),
            first_names: Some("Ann".to_owned()),
            last_name: Some("Example".to_owned()),
            date_of_birth: NaiveDate::from_ymd_opt(1999, 4, 12),
            training_route: Some("11".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: DateTime::from_timestamp(1_770_000_000, 0),
            updated_at: DateTime::from_timestamp(1_770_000_000, 0),
            ..Trainee::default()
        };
        let lock = "SELECT 1 FROM trainees FOR NO KEY UPDATE NOWAIT";
        let stored = trainee.clone();
        register
            .write(move |session| session.open_provider(UKPRN, Cause::of("test"))?.unwrap().insert_trainee(&stored))
            .unwrap();
        register.second_connection().batch_execute(lock).unwrap();
        let mut other = register.second_connection();
        let refused = register.write(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
            assert_eq!(provider.duplicates_of(&trainee)?.len(), 1);
            Ok(other.batch_execute(lock).unwrap_err().to_string())
        });
        assert!(refused.unwrap().contains("could not obtain lock"));
    }
}
