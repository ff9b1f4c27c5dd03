//! What a test is given is its own, on either database.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod database {
    use std::sync::atomic::{AtomicU32, Ordering};

    use diesel::connection::SimpleConnection as _;
    use diesel::{Connection as _, SqliteConnection};
    use postgres_client::PostgresConnection;
    use test_support::{Database, Kind};

    /// Runs statements on a database that may be either.
    fn run(database: &Database, sql: &str) -> bool {
        execute(database.kind(), database.url(), sql)
    }

    fn execute(kind: Kind, url: &str, sql: &str) -> bool {
        match kind {
            Kind::Sqlite => {
                let file = url.strip_prefix("sqlite://").unwrap();
                SqliteConnection::establish(file)
                    .unwrap()
                    .batch_execute(sql)
                    .is_ok()
            }
            Kind::Postgres => PostgresConnection::establish(url)
                .unwrap()
                .batch_execute(sql)
                .is_ok(),
        }
    }

    #[test]
    fn two_databases_know_nothing_of_each_other() {
        let (one, other) = (Database::fresh(), Database::fresh());
        assert_ne!(one.url(), other.url());
        assert!(run(&one, "CREATE TABLE things (n INT)"));
        assert!(run(&one, "SELECT * FROM things"));
        assert!(!run(&other, "SELECT * FROM things"));
    }

    #[test]
    fn copies_of_prepared_database_are_independent() {
        let prepared = AtomicU32::new(0);
        let fresh = || {
            Database::fresh_from("things", |url| {
                prepared.fetch_add(1, Ordering::SeqCst);
                assert!(execute(
                    Kind::from_environment(),
                    url,
                    "CREATE TABLE things (n INT PRIMARY KEY)"
                ));
                assert!(execute(
                    Kind::from_environment(),
                    url,
                    "INSERT INTO things VALUES (1)"
                ));
            })
        };
        let (one, other) = (fresh(), fresh());
        for database in [&one, &other] {
            assert!(
                !run(database, "INSERT INTO things VALUES (1)"),
                "the row is there"
            );
            assert!(run(database, "INSERT INTO things VALUES (2)"));
        }
        // A server that outlives the process keeps no templates.
        let copies =
            std::env::var_os(test_support::SERVER_VARIABLE).is_none() || one.kind() == Kind::Sqlite;
        assert_eq!(prepared.into_inner(), if copies { 1 } else { 2 });
    }

    #[test]
    fn a_file_goes_with_its_database() {
        let database = Database::fresh_on(Kind::Sqlite);
        assert!(run(&database, "CREATE TABLE things (n INT)"));
        let file = std::path::PathBuf::from(database.url().strip_prefix("sqlite://").unwrap());
        assert!(file.is_file());
        drop(database);
        assert!(!file.exists());
    }
}
