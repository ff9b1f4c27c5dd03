//! Tests the connection against real servers: pipelining, commits with an unknown outcome, and lost
//! connections.
//!
//! In a run on SQLite these tests do nothing; `scripts/test postgres` runs them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod client {
    use std::thread;
    use std::time::{Duration, Instant};

    use diesel::connection::{
        AnsiTransactionManager, SimpleConnection as _, TransactionManager as _,
    };
    use diesel::r2d2::R2D2Connection as _;
    use diesel::sql_types::{BigInt, Nullable, Text};
    use diesel::{Connection as _, QueryableByName, RunQueryDsl as _, sql_query};
    use postgres_client::{Address, Node, OUTCOME_UNKNOWN, PostgresConnection, Session, sqlstate};
    use test_support::{Cluster, Kind, Settings, Tool, Variant, has_tools};

    #[derive(QueryableByName, Debug, PartialEq, Eq)]
    struct Number {
        #[diesel(sql_type = BigInt)]
        number: i64,
    }

    #[derive(QueryableByName)]
    struct Value {
        #[diesel(sql_type = Nullable<Text>)]
        value: Option<String>,
    }

    /// A line of a plan.
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
        line: String,
    }

    /// Starts a server; `None` in a run on SQLite, or if PostgreSQL is not installed.
    fn start(settings: Settings) -> Option<Cluster> {
        let can_start =
            Kind::from_environment() == Kind::Postgres && has_tools(&[Tool::Postgresql]);
        can_start.then(|| Cluster::start(settings))
    }

    fn connect(cluster: &Cluster) -> PostgresConnection {
        PostgresConnection::establish(&cluster.url("postgres")).unwrap()
    }

    fn number(connection: &mut PostgresConnection, sql: &str) -> i64 {
        sql_query(format!("SELECT ({sql})::bigint AS number"))
            .get_result::<Number>(connection)
            .unwrap()
            .number
    }

    fn begin(connection: &mut PostgresConnection) {
        connection
            .deferring(|connection| {
                AnsiTransactionManager::begin_transaction_sql(connection, "BEGIN")
            })
            .unwrap();
    }

    fn state_of(outcome: diesel::QueryResult<()>) -> String {
        sqlstate(&outcome.unwrap_err()).unwrap().to_owned()
    }

    #[test]
    fn values_of_used_types_round_trip() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        for text in [
            None,
            Some(String::new()),
            Some("Zo\u{eb} \0".replace('\0', "x")),
            Some("x".repeat(100_000)),
        ] {
            let query = sql_query("SELECT $1 AS value").bind::<Nullable<Text>, _>(&text);
            assert_eq!(
                query.get_result::<Value>(&mut connection).unwrap().value,
                text
            );
        }
        let query = sql_query("SELECT $1 AS number").bind::<BigInt, _>(i64::MIN);
        assert_eq!(
            query.load::<Number>(&mut connection).unwrap(),
            [Number { number: i64::MIN }]
        );
    }

    #[test]
    fn failure_has_sqlstate_but_no_row_values() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        connection
            .batch_execute("CREATE TABLE t (name text PRIMARY KEY); INSERT INTO t VALUES ('Ash')")
            .unwrap();
        let error = connection
            .batch_execute("INSERT INTO t VALUES ('Ash')")
            .unwrap_err();
        assert_eq!(sqlstate(&error), Some("23505"));
        assert!(!format!("{error:?} {error}").contains("Ash"), "{error:?}");
        assert_eq!(state_of(connection.batch_execute("SELEC")), "42601");
        assert!(!connection.is_closed());
    }

    #[test]
    fn deferred_statements_run_in_order_before_next_statement() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        let mut other = connect(&cluster);
        connection
            .batch_execute("CREATE TABLE t (n bigint)")
            .unwrap();
        begin(&mut connection);
        for n in 1..=3_i64 {
            let insert = sql_query("INSERT INTO t SELECT coalesce(max(n), 0) * 10 + $1 FROM t")
                .bind::<BigInt, _>(n);
            connection
                .deferring(|connection| insert.execute(connection))
                .unwrap();
        }
        assert_eq!(number(&mut connection, "SELECT max(n) FROM t"), 123);
        assert_eq!(number(&mut other, "SELECT count(*) FROM t"), 0);
        connection
            .deferring(|connection| sql_query("DELETE FROM t WHERE n = 123").execute(connection))
            .unwrap();
        AnsiTransactionManager::commit_transaction(&mut connection).unwrap();
        assert_eq!(number(&mut other, "SELECT max(n) FROM t"), 12);
    }

    #[test]
    fn failed_deferred_statement_fails_next_statement_or_commit() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        let mut other = connect(&cluster);
        connection
            .batch_execute("CREATE TABLE t (n bigint PRIMARY KEY)")
            .unwrap();
        let insert_twice = |connection: &mut PostgresConnection| {
            begin(connection);
            for _ in 0..2 {
                let insert = sql_query("INSERT INTO t VALUES (1)");
                connection
                    .deferring(|connection| insert.execute(connection))
                    .unwrap();
            }
        };
        insert_twice(&mut connection);
        assert_eq!(
            state_of(sql_query("SELECT 1").execute(&mut connection).map(drop)),
            "23505"
        );
        AnsiTransactionManager::rollback_transaction(&mut connection).unwrap();
        insert_twice(&mut connection);
        let error = AnsiTransactionManager::commit_transaction(&mut connection).unwrap_err();
        assert_eq!(sqlstate(&error), Some("23505"), "{error:?}");
        assert_eq!(number(&mut other, "SELECT count(*) FROM t"), 0);
        begin(&mut connection);
        sql_query("INSERT INTO t VALUES (1)")
            .execute(&mut connection)
            .unwrap();
        AnsiTransactionManager::commit_transaction(&mut connection).unwrap();
        assert_eq!(number(&mut other, "SELECT count(*) FROM t"), 1);
    }

    #[test]
    fn failed_begin_prevents_writes_of_later_statements() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let address: Address = cluster.url("postgres").parse().unwrap();
        let mut other = connect(&cluster);
        other.batch_execute("CREATE TABLE t (n bigint)").unwrap();
        for writes_only_in_transactions in [true, false] {
            let session = Session {
                writes_only_in_transactions,
                ..Session::default()
            };
            let connect =
                || PostgresConnection::connect(&address, &session, Node::Writable).unwrap();
            let begin = |connection: &mut PostgresConnection, mode: &str| {
                let sql = format!("BEGIN ISOLATION LEVEL {mode}");
                connection
                    .before_writes(|connection| {
                        AnsiTransactionManager::begin_transaction_sql(connection, &sql)
                    })
                    .and_then(|()| sql_query("INSERT INTO t VALUES (1)").execute(connection))
            };
            let mut connection = connect();
            assert!(!connection.is_read_only());
            assert_eq!(
                state_of(begin(&mut connection, "NONE READ WRITE").map(drop)),
                "42601"
            );
            assert!(connection.is_closed() && connection.is_broken());
            assert_eq!(number(&mut other, "SELECT count(*) FROM t"), 0);

            let mut connection = connect();
            let before = connection.round_trips();
            begin(&mut connection, "READ COMMITTED READ WRITE").unwrap();
            assert_eq!(
                connection.round_trips() - before,
                if writes_only_in_transactions { 1 } else { 2 }
            );
            AnsiTransactionManager::commit_transaction(&mut connection).unwrap();
            assert_eq!(number(&mut other, "SELECT count(*) FROM t"), 1);
            let outside = sql_query("DELETE FROM t")
                .execute(&mut connection)
                .map(drop);
            assert_eq!(outside.is_err(), writes_only_in_transactions);
            other.batch_execute("DELETE FROM t").unwrap();
        }
    }

    #[test]
    fn failed_deferred_commit_closes_connection() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        connection
            .deferring(|connection| connection.batch_execute("COMMIT IN ERROR"))
            .unwrap();
        connection.flush();
        assert_eq!(state_of(connection.batch_execute("SELECT 1")), "08006");
        assert!(connection.is_closed());
    }

    #[test]
    fn commit_of_failed_or_ended_transaction_fails() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        connection
            .batch_execute("CREATE TABLE t (n bigint)")
            .unwrap();
        begin(&mut connection);
        sql_query("INSERT INTO t VALUES (1)")
            .execute(&mut connection)
            .unwrap();
        sql_query("SELECT 1 / 0")
            .execute(&mut connection)
            .unwrap_err();
        // The failure is swallowed.
        let error = AnsiTransactionManager::commit_transaction(&mut connection).unwrap_err();
        assert_eq!(sqlstate(&error), Some("25P02"), "{error:?}");
        let mut connection = connect(&cluster);
        begin(&mut connection);
        connection.batch_execute("SELECT 1; ROLLBACK").unwrap();
        let error = AnsiTransactionManager::commit_transaction(&mut connection).unwrap_err();
        assert_eq!(sqlstate(&error), Some("25P01"), "{error:?}");
        assert_eq!(number(&mut connect(&cluster), "SELECT count(*) FROM t"), 0);
    }

    #[test]
    fn commit_with_cancelled_standby_wait_has_unknown_outcome() {
        let Some(cluster) = start(Settings::Durable) else {
            return;
        };
        let mut connection = connect(&cluster);
        let mut other = connect(&cluster);
        for statement in [
            "CREATE TABLE t (n bigint)",
            "ALTER SYSTEM SET synchronous_standby_names = 'absent'",
            "SELECT pg_reload_conf()",
        ] {
            other.batch_execute(statement).unwrap();
        }
        let process = number(&mut connection, "SELECT pg_backend_pid()");
        let canceller = thread::spawn(move || {
            while number(
                &mut other,
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
            ) == 0
            {
                thread::sleep(Duration::from_millis(20));
            }
            number(
                &mut other,
                &format!("SELECT pg_cancel_backend({process})::int"),
            )
        });
        // Commits wait only after the checkpointer has also read the setting.
        let deadline = Instant::now() + Duration::from_mins(1);
        let error = loop {
            assert!(Instant::now() < deadline, "no commit waits for a standby");
            begin(&mut connection);
            sql_query("INSERT INTO t VALUES (1)")
                .execute(&mut connection)
                .unwrap();
            if let Err(error) = AnsiTransactionManager::commit_transaction(&mut connection) {
                break error;
            }
        };
        assert_eq!(sqlstate(&error), Some(OUTCOME_UNKNOWN), "{error:?}");
        assert_eq!(canceller.join().unwrap(), 1);
    }

    #[test]
    fn statement_beyond_deadline_closes_connection() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        let begun = Instant::now();
        connection.set_deadline(Some(begun + Duration::from_millis(300)));
        assert_eq!(
            state_of(connection.batch_execute("SELECT pg_sleep(60)")),
            "08006"
        );
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(connection.is_closed() && connection.is_broken());
        assert_eq!(state_of(connection.batch_execute("SELECT 1")), "08006");
    }

    #[test]
    fn connection_ended_by_server_is_closed() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        let mut other = connect(&cluster);
        let process = number(&mut connection, "SELECT pg_backend_pid()");
        other
            .batch_execute(&format!("SELECT pg_terminate_backend({process}, 5000)"))
            .unwrap();
        let state = state_of(connection.batch_execute("SELECT 1"));
        assert!(["08006", "57P01"].contains(&state.as_str()), "{state}");
        assert!(connection.is_closed());
    }

    #[test]
    fn writable_host_is_found_at_any_position() {
        if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
            return;
        }
        let primary = Cluster::start(Settings::Fast);
        let standby = Cluster::start(Settings::Fast);
        connect(&standby)
            .batch_execute("ALTER SYSTEM SET default_transaction_read_only = on")
            .unwrap();
        connect(&standby)
            .batch_execute("SELECT pg_reload_conf()")
            .unwrap();
        while !connect(&standby).is_read_only() {
            thread::sleep(Duration::from_millis(20));
        }
        let host = |cluster: &Cluster| {
            let url = cluster.url("postgres");
            url.split_once('@')
                .unwrap()
                .1
                .split_once('/')
                .unwrap()
                .0
                .to_owned()
        };
        // No server listens at `dead`.
        let primary = host(&primary);
        let standby = host(&standby);
        let dead = "127.0.0.1:1";
        let reached = |hosts: &[&str], node| {
            let url = format!("postgres://postgres@{}/postgres", hosts.join(","));
            let address: Address = url.parse().unwrap();
            PostgresConnection::connect(&address, &Session::default(), node)
                .map(|connection| connection.is_read_only())
        };
        for hosts in [
            [&*standby, dead, &primary],
            [dead, &standby, &primary],
            [&primary, dead, &standby],
        ] {
            assert!(!reached(&hosts, Node::Writable).unwrap(), "{hosts:?}");
            assert!(!reached(&hosts, Node::PreferWritable).unwrap(), "{hosts:?}");
        }
        assert!(reached(&[dead, &standby], Node::PreferWritable).unwrap());
        let error = reached(&[dead, &standby], Node::Writable).unwrap_err();
        assert!(
            error.is_read_only() && error.to_string().contains("read-only"),
            "{error}"
        );
    }

    #[test]
    fn pooler_is_detected_and_settings_apply_per_transaction() {
        if Kind::from_environment() != Kind::Postgres
            || !has_tools(&[Tool::Postgresql, Tool::Pgbouncer])
        {
            return;
        }
        let session = Session {
            lock_timeout: Some(Duration::from_millis(1_234)),
            ..Session::default()
        };
        for mode in ["transaction", "session"] {
            let cluster = Cluster::start_as(Settings::Fast, &Variant::PgBouncer(mode.to_owned()));
            let address: Address = cluster.url("postgres").parse().unwrap();
            let mut connections: Vec<_> = (0..3)
                .map(|_| PostgresConnection::connect(&address, &session, Node::Writable).unwrap())
                .collect();
            for round in 0..3 {
                for connection in &mut connections {
                    assert!(connection.is_pooled(), "{mode}");
                    let timeout =
                        sql_query("SELECT current_setting('lock_timeout') AS value, $1 AS round");
                    begin(connection);
                    let timeout = timeout
                        .bind::<BigInt, _>(round)
                        .get_result::<Value>(connection)
                        .unwrap();
                    assert_eq!(timeout.value.as_deref(), Some("1234ms"), "{mode} {round}");
                    AnsiTransactionManager::commit_transaction(connection).unwrap();
                }
            }
        }
    }

    #[test]
    fn session_settings_apply_from_start() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let address: Address = cluster.url("postgres").parse().unwrap();
        let session = Session {
            lock_timeout: Some(Duration::from_millis(1_234)),
            ..Session::default()
        };
        let mut connection =
            PostgresConnection::connect(&address, &session, Node::Writable).unwrap();
        assert!(!connection.is_pooled());
        for (name, expected) in [
            ("lock_timeout", "1234ms"),
            ("TimeZone", "UTC"),
            ("synchronous_commit", "on"),
        ] {
            let query = sql_query(format!("SELECT current_setting('{name}') AS value"));
            assert_eq!(
                query
                    .get_result::<Value>(&mut connection)
                    .unwrap()
                    .value
                    .as_deref(),
                Some(expected),
                "{name}"
            );
        }
    }

    #[test]
    fn statement_prepared_on_empty_table_uses_index_later() {
        let Some(cluster) = start(Settings::Fast) else {
            return;
        };
        let mut connection = connect(&cluster);
        // After VACUUM, PostgreSQL plans for an empty table.
        let table = "CREATE TABLE t (n bigint PRIMARY KEY) WITH (autovacuum_enabled = off)";
        connection.batch_execute(table).unwrap();
        connection.batch_execute("VACUUM t").unwrap();
        connection
            .batch_execute("PREPARE one AS SELECT n FROM t WHERE n = $1; EXECUTE one(1)")
            .unwrap();
        connection
            .batch_execute("INSERT INTO t SELECT generate_series(1, 10000)")
            .unwrap();
        let plan = sql_query("EXPLAIN (COSTS OFF) EXECUTE one(1)")
            .load::<Line>(&mut connection)
            .unwrap();
        let plan: Vec<_> = plan.into_iter().map(|line| line.line).collect();
        assert_eq!(
            plan,
            [
                "Index Only Scan using t_pkey on t",
                "  Index Cond: (n = $1)"
            ]
        );
    }

    #[test]
    fn translated_error_has_same_sqlstate() {
        if Kind::from_environment() != Kind::Postgres
            || !has_tools(&[Tool::Postgresql, Tool::Localedef])
        {
            return;
        }
        let cluster = Cluster::start_as(Settings::Fast, &Variant::Messages("de_DE".to_owned()));
        let mut one = connect(&cluster);
        let mut other = connect(&cluster);
        one.batch_execute("CREATE TABLE t (n bigint); INSERT INTO t VALUES (1)")
            .unwrap();
        begin(&mut one);
        sql_query("UPDATE t SET n = 2").execute(&mut one).unwrap();
        other.batch_execute("SET lock_timeout = 50").unwrap();
        let error = other.batch_execute("UPDATE t SET n = 3").unwrap_err();
        assert_eq!(sqlstate(&error), Some("55P03"));
        assert!(
            !error.to_string().contains("canceling"),
            "the messages are not German: {error}"
        );
    }
}
