//! Tests the recorded environment, the commands that record it, and the refused commands.

use test_support::{Database, kinds};

use super::*;
use crate::maintenance::migrations::set_up;
use crate::schema::register_settings;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, filled};

#[test]
fn missing_environment_with_providers_is_error() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        diesel::delete(register_settings::table.find(SETTING))
            .execute(&mut connection)
            .unwrap();
        for requested in [None, Some(Environment::Production)] {
            let refused = set_up(&mut connection, requested);
            assert!(
                matches!(refused, Err(StorageError::CorruptSetting { name: SETTING })),
                "{refused:?}"
            );
            assert_eq!(recorded(&mut connection).unwrap(), None);
        }
    }
}

#[test]
fn concurrently_starting_servers_record_one_environment() {
    let database = Database::fresh();
    let servers: Vec<_> = [
        Environment::Sandbox,
        Environment::Production,
        Environment::Sandbox,
    ]
    .into_iter()
    .map(|requested| {
        let url = database.url().to_owned();
        std::thread::spawn(move || {
            let store = Store::open(&url, StoreOptions::default()).unwrap();
            let set_up = store.set_up(Some(requested));
            (requested, set_up.map(|set_up| set_up.environment))
        })
    })
    .collect();
    let answers: Vec<_> = servers
        .into_iter()
        .map(|server| server.join().unwrap())
        .collect();
    let recorded = recorded(&mut connect(database.url())).unwrap().unwrap();
    for (requested, answer) in answers {
        match answer {
            Ok(environment) => assert_eq!((environment, requested), (recorded, recorded)),
            Err(error) => {
                assert!(
                    matches!(error, StorageError::OtherEnvironment { .. }),
                    "{error:?}"
                );
                assert_ne!(requested, recorded);
            }
        }
    }
}
