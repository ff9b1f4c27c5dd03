//! Which environment is recorded, by whom, and who is refused.

use test_support::{Database, kinds};

use super::*;
use crate::store::migrations::{Goal, SetUp, set_up};
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, empty, filled};

const EVERY: [Unrecorded; 3] = [Unrecorded::RecordRequested, Unrecorded::Refuse, Unrecorded::Keep];

fn environment(set_up: Result<SetUp, StorageError>) -> Option<Environment> {
    set_up.unwrap().environment
}

#[test]
fn a_new_register_is_what_was_requested_and_otherwise_a_sandbox() {
    for kind in kinds() {
        for unrecorded in EVERY {
            for requested in [None, Some(Environment::Sandbox), Some(Environment::Production)] {
                let database = empty(kind);
                let mut connection = connect(database.url());
                let expected = Some(requested.unwrap_or(Environment::Sandbox));
                assert_eq!(environment(set_up(&mut connection, Goal::Newest, requested, unrecorded)), expected);
                assert_eq!(recorded(&mut connection).unwrap(), expected);
                // From then on it is taken from there.
                assert_eq!(environment(set_up(&mut connection, Goal::Newest, None, unrecorded)), expected);
            }
        }
    }
}

#[test]
fn another_environment_than_the_recorded_one_is_refused_before_anything_changes() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        for goal in [Goal::Newest, Goal::Migration("2026-11-26-000001")] {
            let refused = set_up(&mut connection, goal, Some(Environment::Sandbox), Unrecorded::RecordRequested);
            assert!(
                matches!(
                    refused,
                    Err(StorageError::OtherEnvironment {
                        recorded: Environment::Production,
                        requested: Environment::Sandbox
                    })
                ),
                "{refused:?}"
            );
            assert_eq!(recorded(&mut connection).unwrap(), Some(Environment::Production));
        }
    }
}

#[test]
fn a_register_with_trainees_and_no_record_is_recorded_by_an_explicit_request_only() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        diesel::delete(register_settings::table.find(SETTING)).execute(&mut connection).unwrap();
        assert_eq!(recorded(&mut connection).unwrap(), None);
        for (requested, unrecorded) in [
            (None, Unrecorded::RecordRequested),
            (None, Unrecorded::Refuse),
            (Some(Environment::Production), Unrecorded::Refuse),
        ] {
            let refused = set_up(&mut connection, Goal::Newest, requested, unrecorded);
            assert!(matches!(refused, Err(StorageError::EnvironmentNotRecorded)), "{refused:?}");
            assert_eq!(recorded(&mut connection).unwrap(), None);
        }
        let requested = Some(Environment::Production);
        assert_eq!(environment(set_up(&mut connection, Goal::Newest, requested, Unrecorded::Keep)), None);
        assert_eq!(recorded(&mut connection).unwrap(), None);
        let set_up = set_up(&mut connection, Goal::Newest, requested, Unrecorded::RecordRequested);
        assert_eq!(environment(set_up), requested);
        assert_eq!(recorded(&mut connection).unwrap(), requested);
    }
}

/// Its tokens are of one environment already.
#[test]
fn a_register_with_providers_only_and_no_record_is_recorded_by_an_explicit_request_only() {
    for kind in kinds() {
        let database = empty(kind);
        let mut connection = connect(database.url());
        diesel::insert_into(providers::table)
            .values((
                providers::ukprn.eq("10000001"),
                providers::name.eq("Ashdown University"),
                providers::created_at.eq(chrono::NaiveDateTime::default()),
            ))
            .execute(&mut connection)
            .unwrap();
        for unrecorded in [Unrecorded::RecordRequested, Unrecorded::Refuse] {
            let refused = set_up(&mut connection, Goal::Newest, None, unrecorded);
            assert!(matches!(refused, Err(StorageError::EnvironmentNotRecorded)), "{refused:?}");
        }
        let requested = Some(Environment::Production);
        assert_eq!(environment(set_up(&mut connection, Goal::Newest, None, Unrecorded::Keep)), None);
        let set_up = set_up(&mut connection, Goal::Newest, requested, Unrecorded::RecordRequested);
        assert_eq!(environment(set_up), requested);
    }
}

#[test]
fn servers_that_start_together_record_one_environment() {
    let database = Database::fresh();
    let servers: Vec<_> = [Environment::Sandbox, Environment::Production, Environment::Sandbox]
        .into_iter()
        .map(|requested| {
            let url = database.url().to_owned();
            std::thread::spawn(move || {
                let store = Store::open(&url, StoreOptions::default()).unwrap();
                let set_up = store.set_up(Goal::Newest, Some(requested), Unrecorded::RecordRequested);
                (requested, set_up.map(|set_up| set_up.environment))
            })
        })
        .collect();
    let answers: Vec<_> = servers.into_iter().map(|server| server.join().unwrap()).collect();
    let recorded = recorded(&mut connect(database.url())).unwrap().unwrap();
    for (requested, answer) in answers {
        match answer {
            Ok(environment) => assert_eq!((environment, requested), (Some(recorded), recorded)),
            Err(error) => {
                assert!(matches!(error, StorageError::OtherEnvironment { .. }), "{error:?}");
                assert_ne!(requested, recorded);
            }
        }
    }
}
