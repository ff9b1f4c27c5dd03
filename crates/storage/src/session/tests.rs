//! Tests of authentication and of recording token use.

use test_support::Kind;

use super::*;
use crate::accounts::tokens::NewToken;
use crate::accounts::users::Actor;
use crate::base::token::Token;
use crate::schema::provider_positions;
use crate::testing::{NEW_TOKEN, OTHER, Register, UKPRN};

#[test]
fn token_use_is_recorded_once_a_day() {
    let register = Register::with_provider();
    let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
    let use_token = || {
        let digest = TokenDigest::from_text(token.reveal());
        register
            .write(move |session| {
                let mut provider = session.authenticate(&digest, Cause::new("test"))?.unwrap();
                let known = provider.token_use_is_recorded();
                provider.record_token_use()?;
                Ok(known)
            })
            .unwrap()
    };
    assert_eq!((use_token(), use_token()), (false, true));
    register.clock.set("2026-03-03");
    assert_eq!((use_token(), use_token()), (false, true));
    let listed = register
        .read(|session| session.list_tokens(Some(UKPRN)))
        .unwrap();
    assert_eq!(listed[0].last_used_on, NaiveDate::from_ymd_opt(2026, 3, 3));
    // A date from a wrong clock is replaced.
    register.clock.set("2026-06-03");
    assert!(!use_token());
    register.clock.set("2026-03-04");
    assert_eq!((use_token(), use_token()), (false, true));
}

#[test]
fn finding_trainee_to_change_locks_provider() {
    let register = Register::with_two_providers();
    register.add_trainee("ours");
    let (ours, _) = register.issue_token(NEW_TOKEN).unwrap();
    let (theirs, _) = register
        .issue_token(NewToken {
            provider_ukprn: OTHER,
            ..NEW_TOKEN
        })
        .unwrap();
    let (revoked, record) = register.issue_token(NEW_TOKEN).unwrap();
    register
        .write(move |session| {
            session
                .revoke_token(record.id, Actor::operator("operator"))
                .map(drop)
        })
        .unwrap();
    // Returns whether the token is valid, whether the trainee is found, and whether another
    // transaction can lock the provider.
    let to_change = |token: &Token, trainee_id: &'static str| {
        let digest = TokenDigest::from_text(token.reveal());
        let mut other = register.second_connection();
        register.write(move |session| {
            let opened =
                session.authenticate_for_trainee(&digest, Cause::new("test"), trainee_id)?;
            let Some(mut provider) = opened else {
                return Ok((false, false, lockable(&mut other)?));
            };
            Ok((
                true,
                provider.find_trainee(trainee_id)?.is_some(),
                lockable(&mut other)?,
            ))
        })
    };
    let locks = Kind::from_environment() == Kind::Postgres;
    assert_eq!(to_change(&ours, "ours").unwrap(), (true, true, !locks));
    assert_eq!(to_change(&ours, "unknown").unwrap(), (true, false, !locks));
    assert_eq!(to_change(&ours, "\0").unwrap(), (true, false, true));
    assert_eq!(to_change(&theirs, "ours").unwrap(), (true, false, true));
    assert_eq!(to_change(&revoked, "ours").unwrap(), (false, false, true));
}

/// Whether another transaction can lock the first provider without waiting. Always true on SQLite,
/// which has no row locks.
fn lockable(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(true);
    };
    let free = provider_positions::table
        .find(1)
        .select(provider_positions::provider_id)
        .for_update()
        .skip_locked()
        .load::<i64>(inner)?;
    Ok(free.len() == 1)
}
