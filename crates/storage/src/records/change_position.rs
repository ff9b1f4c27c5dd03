//! Positions of changes: an order of all changes that is consistent with the order of commits.
//!
//! Each trainee has the position of its last change. SQLite commits one change after the other, and
//! positions are consecutive numbers. On PostgreSQL the position is the number of the transaction.
//! A long transaction may commit after a transaction with a greater number. Only positions below
//! the number of the oldest open transaction are therefore final.

use database::connection::fixed_expression::fixed_expressions;
use database::connection::{Backend, DatabaseConnection, QueryQueue as _};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::Error as DieselError;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use serde::{Deserialize, Serialize};

use crate::base::pending_result::PendingResult;
use crate::error::StorageError;
use crate::records::change_generation::{Generation, GenerationText, Timeline};
use crate::schema::trainees;
use crate::session::Session;

/// The key of the next entry in the history. Removing entries does not decrease the key.
macro_rules! next_entry {
    () => {
        "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0) + 1"
    };
}

fixed_expressions! {
    /// The position of the changes of this transaction. On SQLite the next entry in the history
    /// gets this number as its key.
    pub(crate) CurrentPosition: BigInt = "pg_current_xact_id()::text::bigint", sqlite: next_entry!();
    /// The snapshot of the present transaction as text. On SQLite, where no other transaction is
    /// open, the number of the next change.
    SnapshotText: Text = "pg_current_snapshot()::text", sqlite: concat!("CAST(", next_entry!(), " AS TEXT)");
}

/// The maximum number of open transactions in a snapshot. Limits the length of cursors, which hold
/// two snapshots.
const MAX_OPEN: usize = 100;

/// The set of changes that a transaction sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Changes before this position are visible.
    pub(crate) oldest_open: i64,
    /// Changes from this position on are invisible.
    pub(crate) next: i64,
    /// The invisible changes between the two positions.
    pub(crate) open: Vec<i64>,
}

impl Snapshot {
    /// Whether the snapshot sees a change at the position.
    pub(crate) fn sees(&self, position: i64) -> bool {
        position < self.oldest_open || (position < self.next && !self.open.contains(&position))
    }

    /// Parses PostgreSQL's text, `oldest:next:open,open,...`, or a single number, that of the next
    /// change. Returns `None` for any other text.
    fn parse(text: &str) -> Option<Self> {
        if let Ok(next) = text.parse() {
            return Some(Self {
                oldest_open: next,
                next,
                open: Vec::new(),
            });
        }
        let mut parts = text.split(':');
        let mut number = || parts.next()?.parse().ok();
        let (oldest_open, next) = (number()?, number()?);
        let open = parts.next()?.split(',').filter(|number| !number.is_empty());
        let open: Vec<i64> = open.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self {
            oldest_open,
            next,
            open,
        })
    }

    /// Limits the snapshot to [`MAX_OPEN`] open transactions, to fit into a cursor. The shortened
    /// snapshot may see fewer changes: a client receives these changes again, and misses none.
    fn shortened(mut self) -> Self {
        self.open.sort_unstable();
        if let Some(first_left_out) = self.open.get(MAX_OPEN).copied() {
            self.next = first_left_out;
            self.open.truncate(MAX_OPEN);
        }
        self
    }
}

/// The view of a transaction on the changes.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// The changes that the transaction sees.
    pub(crate) snapshot: Snapshot,
    /// The next free position, greater than that of every visible change.
    pub(crate) next: i64,
    /// The generation of the positions.
    pub(crate) generation: Generation,
}

/// The snapshot as text, the generation and the timeline.
type StandingRow = (String, String, String);

/// Queues the query for the [`Standing`] of the present transaction.
pub(crate) fn queue_standing(
    connection: &mut DatabaseConnection,
) -> Result<PendingResult<Standing>, StorageError> {
    let query = diesel::select((SnapshotText, GenerationText, Timeline));
    match connection {
        DatabaseConnection::Postgres(inner) => {
            let queued = inner.queue::<_, StandingRow>(query)?;
            Ok(Box::new(|connection| {
                let DatabaseConnection::Postgres(inner) = connection else {
                    return Standing::from_rows(Vec::new());
                };
                Standing::from_rows(inner.take(queued)?)
            }))
        }
        DatabaseConnection::Sqlite(inner) => {
            let rows = query.load::<StandingRow>(inner)?;
            Ok(Box::new(|_| Standing::from_rows(rows)))
        }
    }
}

impl Standing {
    /// Reads the row of the query. `Err` if there is none, or if its snapshot is unreadable.
    fn from_rows(rows: Vec<StandingRow>) -> Result<Self, StorageError> {
        let found = rows.into_iter().next();
        let read = found.and_then(|(text, register, timeline)| {
            let snapshot = Snapshot::parse(&text)?;
            let next = snapshot.next;
            Some(Self {
                snapshot: snapshot.shortened(),
                next,
                generation: Generation { register, timeline },
            })
        });
        read.ok_or_else(|| DieselError::DeserializationError("no snapshot".into()).into())
    }
}

/// A position on a PostgreSQL server. All changes before it are final, independent of the open
/// transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settled {
    /// All changes before this position are final. With 0 or 1, no change is known to be final.
    pub position: i64,
    /// The timeline of the server. A promoted standby may use numbers again that its former primary
    /// has used.
    pub timeline: i64,
}

/// SQL condition: the last change of a trainee is final, because no open transaction can commit
/// a change before it. On SQLite every change is final.
pub(crate) struct IsFinal {
    /// A position that is known to be final, valid on its timeline only.
    pub(crate) settled: Settled,
}

/// Conditions on trainees whose SQL depends on their values.
macro_rules! conditions {
    ($($name:ident),+) => {$(
        impl Expression for $name {
            type SqlType = Bool;
        }

        impl AppearsOnTable<trainees::table> for $name {}

        impl ValidGrouping<()> for $name {
            type IsAggregate = is_aggregate::No;
        }

        impl QueryId for $name {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }
    )+};
}
conditions!(IsFinal, IsUnseen);

impl QueryFragment<Backend> for IsFinal {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        // `settled` applies only to a server with the same timeline and at least the same numbers.
        out.push_sql("trainees.changed_in < greatest((SELECT settled FROM (SELECT ");
        out.push_bind_param::<BigInt, i64>(&self.settled.position)?;
        out.push_sql(
            "::bigint AS settled) AS known \
             WHERE settled <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint AND ",
        );
        out.push_sql(TIMELINE_SQL);
        out.push_sql(" = ");
        out.push_bind_param::<BigInt, i64>(&self.settled.timeline)?;
        out.push_sql("::bigint), pg_snapshot_xmin(pg_current_snapshot())::text::bigint)");
        Ok(())
    }
}

/// SQL condition: a snapshot does not see the last change of a trainee.
pub(crate) struct IsUnseen {
    next: i64,
    /// The numbers of the transactions that were open, separated by commas.
    open: String,
}

impl IsUnseen {
    /// The condition for a snapshot. On SQLite a snapshot never has open transactions, and the
    /// condition ignores them: they come from the cursor of another database, which is outdated.
    pub(crate) fn by(
        Snapshot { next, open, .. }: &Snapshot,
        connection: &DatabaseConnection,
    ) -> Self {
        let open: Vec<String> = open
            .iter()
            .filter(|_| connection.is_remote())
            .map(i64::to_string)
            .collect();
        Self {
            next: *next,
            open: open.join(","),
        }
    }
}

impl QueryFragment<Backend> for IsUnseen {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        out.push_sql("(trainees.changed_in >= ");
        out.push_bind_param::<BigInt, i64>(&self.next)?;
        if !self.open.is_empty() {
            out.push_sql(" OR trainees.changed_in = ANY (string_to_array(");
            out.push_bind_param::<Text, String>(&self.open)?;
            out.push_sql(", ',')::bigint[])");
        }
        out.push_sql(")");
        Ok(())
    }
}

/// The open transactions of a PostgreSQL server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransactions {
    /// The number of the oldest open transaction. Every change before it is final.
    pub oldest: i64,
    /// The number of the next transaction.
    pub next: i64,
    /// The timeline of the server; `None` on a standby, which does not report the open transactions
    /// of its primary.
    pub timeline: Option<i64>,
    /// The number of the oldest transaction that may commit at any age: waiting in its COMMIT (for
    /// example for a standby), prepared, or in a state that the role may not read. `None` when
    /// there is none.
    pub oldest_to_be_kept: Option<i64>,
}

/// The row of [`OPEN_TRANSACTIONS_SQL`].
#[derive(QueryableByName)]
struct OpenTransactionsRow {
    #[diesel(sql_type = BigInt)]
    oldest: i64,
    #[diesel(sql_type = BigInt)]
    next: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    timeline: Option<i64>,
    /// Only the lower 32 bits of the number.
    #[diesel(sql_type = Nullable<BigInt>)]
    kept: Option<i64>,
}

/// The timeline of a PostgreSQL server as a number; null on a standby.
macro_rules! timeline {
    () => {
        "CASE WHEN NOT pg_is_in_recovery() THEN \
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END"
    };
}

/// The SQL of the timeline as a number.
const TIMELINE_SQL: &str = timeline!();

/// Selects [`OpenTransactionsRow`]. A backend that waits inside an active statement may be waiting
/// in its COMMIT.
const OPEN_TRANSACTIONS_SQL: &str = concat!(
    "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest, \
     pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next, ",
    timeline!(),
    " AS timeline, \
     (SELECT xid::text::bigint FROM \
         (SELECT backend_xid AS xid FROM pg_stat_activity JOIN pg_database ON pg_database.oid = datid \
          WHERE pg_database.datname = current_database() \
          AND (state IS NULL OR (state = 'active' AND wait_event_type IN ('IO', 'IPC', 'LWLock'))) \
          UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()) AS kept \
      WHERE xid IS NOT NULL ORDER BY age(xid) DESC LIMIT 1) AS kept"
);

impl Session<'_> {
    /// The open transactions of a PostgreSQL server; `None` on SQLite, where every change is final.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn open_transactions(&mut self) -> Result<Option<OpenTransactions>, StorageError> {
        let DatabaseConnection::Postgres(inner) = &mut *self.connection else {
            return Ok(None);
        };
        let row =
            diesel::sql_query(OPEN_TRANSACTIONS_SQL).get_result::<OpenTransactionsRow>(inner)?;
        // The number is one of the last 2^31, so its upper bits follow from `next`.
        let oldest_to_be_kept = row
            .kept
            .map(|lower| row.next - ((row.next - lower) & 0xffff_ffff));
        Ok(Some(OpenTransactions {
            oldest: row.oldest,
            next: row.next,
            timeline: row.timeline,
            oldest_to_be_kept,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_sees_earlier_commits() {
        let snapshot = Snapshot::parse("10:20:12,15").unwrap();
        let seen: Vec<i64> = (8..23)
            .filter(|position| snapshot.sees(*position))
            .collect();
        assert_eq!(seen, [8, 9, 10, 11, 13, 14, 16, 17, 18, 19]);
        assert_eq!(Snapshot::parse("10:10:").unwrap().open, [0; 0]);
        assert_eq!(Snapshot::parse("10"), Snapshot::parse("10:10:"));
        assert_eq!(Snapshot::parse("10:"), None);
    }

    #[test]
    fn shortened_snapshot_sees_subset_of_changes() {
        let open: Vec<String> = (0..=MAX_OPEN)
            .map(|number| (10 + 2 * number).to_string())
            .collect();
        let whole = Snapshot::parse(&format!("10:500:{}", open.join(","))).unwrap();
        let short = whole.clone().shortened();
        assert_eq!(short.open.len(), MAX_OPEN);
        assert!((0..600).all(|position| whole.sees(position) || !short.sees(position)));
        assert_eq!(
            (short.sees(11), short.sees(400), whole.sees(400)),
            (true, false, true)
        );
    }
}
