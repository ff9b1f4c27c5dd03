//! Renews the planner statistics of the trainees while a register is small, on PostgreSQL.
//!
//! Each connection plans a statement once. On the first day of a register the table is empty, all
//! indexes seem to cost the same, and the planner may choose a bad one, such as scanning all
//! trainees of a provider to find one by its identifier. New statistics make PostgreSQL plan again.
//! Autovacuum creates them a minute or more later, when a provider may have sent thousands of
//! trainees. Servers therefore create them earlier.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use crate::error::StorageError;
use crate::session::Session;

/// Whether the number of changes since the last statistics exceeds ten times the number of trainees
/// at that time, and this role may create new statistics.
const DUE_SQL: &str = "SELECT pg_stat_get_mod_since_analyze(oid) > greatest(100, 10 * reltuples) \
         AND pg_has_role(relowner, 'USAGE') AS due \
     FROM pg_class WHERE oid = to_regclass('trainees')";

/// Skips the table if another server is creating statistics.
const ANALYZE_SQL: &str = "ANALYZE (SKIP_LOCKED) trainees";

#[derive(QueryableByName)]
struct Due {
    #[diesel(sql_type = Bool)]
    due: bool,
}

impl Session<'_> {
    /// Whether the register has grown enough for new statistics. `None` on SQLite, which plans
    /// without statistics.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn statistics_are_due(&mut self) -> Result<Option<bool>, StorageError> {
        let DatabaseConnection::Postgres(inner) = &mut *self.connection else {
            return Ok(None);
        };
        let found = diesel::sql_query(DUE_SQL)
            .get_result::<Due>(inner)
            .optional()?;
        Ok(Some(found.is_some_and(|found| found.due)))
    }

    /// Renews the statistics of the trainees. PostgreSQL then plans all statements about them
    /// again.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn make_statistics(&mut self) -> Result<(), StorageError> {
        Ok(self.connection.batch_execute(ANALYZE_SQL)?)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use diesel::sql_types::Text;
    use test_support::Kind;

    use super::*;
    use crate::testing::Register;

    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
        line: String,
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits on a thread of its own"
    )]
    fn growing_register_is_planned_again() {
        let register = Register::with_provider();
        let due = || {
            register
                .read(|session| session.statistics_are_due())
                .unwrap()
        };
        if Kind::from_environment() == Kind::Sqlite {
            assert_eq!(due(), None, "SQLite plans without statistics");
            return;
        }
        let mut connection = register.second_connection();
        let prepare = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
             PREPARE by_identifier AS SELECT id FROM trainees WHERE trainee_id = $1 AND provider_id = $2";
        connection.batch_execute(prepare).unwrap();
        let mut plan = || {
            let explain = diesel::sql_query("EXPLAIN EXECUTE by_identifier('t', 1)");
            let lines = explain.load::<Line>(&mut connection).unwrap();
            lines
                .into_iter()
                .map(|found| found.line)
                .collect::<String>()
        };
        // Planned for the empty table: PostgreSQL 15 chooses another index.
        plan();
        assert_eq!(due(), Some(false), "there are no trainees");
        let insert = "INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded, \
             first_names_folded, email_folded, state, created_at, updated_at, record) \
             SELECT 1, 't' || number, 1, 2026, '', '', '', 'draft', '2026-03-02', '2026-03-02', '{}' \
             FROM generate_series(1, 200) AS number";
        register.second_connection().batch_execute(insert).unwrap();
        // PostgreSQL counts the changes of a connection shortly after the connection has ended.
        let begun = Instant::now();
        while due() != Some(true) {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "200 new trainees are not counted"
            );
            thread::sleep(Duration::from_millis(20));
        }
        register.write(|session| session.make_statistics()).unwrap();
        assert!(plan().contains("trainees_trainee_id_key"), "{}", plan());
        assert_eq!(due(), Some(false), "the statistics are new");
    }
}
