//! Where a change stands among all changes, in an order that agrees with the one in which they were
//! committed.
//!
//! Each trainee has the position of its last change. On SQLite, where changes are committed one
//! after the other, positions are counted. On PostgreSQL the position is the number of the
//! transaction: a transaction commits later than another one with a greater number if it takes
//! longer, so only those positions are final that are before the number of the oldest transaction
//! that is still open.

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

/// The key of the next entry in the history. It does not fall when entries are removed.
macro_rules! next_entry {
    () => {
        "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0) + 1"
    };
}

fixed_expressions! {
    /// The position of what this transaction changes. On SQLite the entry in the history, which
    /// follows, gets it as its key.
    pub(crate) CurrentPosition: BigInt = "pg_current_xact_id()::text::bigint", sqlite: next_entry!();
    /// The snapshot of the present transaction, as text. PostgreSQL's; on SQLite, where no other
    /// transaction is open, the number of the next change.
    SnapshotText: Text = "pg_current_snapshot()::text", sqlite: concat!("CAST(", next_entry!(), " AS TEXT)");
}

/// The most open transactions that a snapshot tells apart, so that a cursor that holds two of them
/// stays short.
const MAX_OPEN: usize = 100;

/// Which changes a transaction sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Every change before this position is seen.
    pub(crate) oldest_open: i64,
    /// No change at this position or behind it is seen.
    pub(crate) next: i64,
    /// Changes between the two that are not seen.
    pub(crate) open: Vec<i64>,
}

impl Snapshot {
    /// Whether a change at the position is seen.
    pub(crate) fn sees(&self, position: i64) -> bool {
        position < self.oldest_open || (position < self.next && !self.open.contains(&position))
    }

    /// Reads PostgreSQL's text, `oldest:next:open,open,...`, or the number of the next change
    /// alone.
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

    /// The same, short enough to be a part of a cursor. Less is taken as seen than is: it is shown
    /// again, and nothing is missed.
    fn shortened(mut self) -> Self {
        self.open.sort_unstable();
        if let Some(first_left_out) = self.open.get(MAX_OPEN).copied() {
            self.next = first_left_out;
            self.open.truncate(MAX_OPEN);
        }
        self
    }
}

/// Where a transaction stands: what it sees of the changes, and what their positions mean.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// The changes that it sees.
    pub(crate) snapshot: Snapshot,
    /// No change has this position, or one behind it.
    pub(crate) next: i64,
    /// In which positions mean what they do.
    pub(crate) generation: Generation,
}

type StandingRow = (String, String, String);

/// Queues the query for the position of the present transaction among the changes.
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

/// Up to where the changes on a PostgreSQL server are final, whatever transaction is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settled {
    /// The changes before this position are; none before 1.
    pub position: i64,
    /// The timeline of the server. One that was promoted gives out numbers anew that the server
    /// before it had given out.
    pub timeline: i64,
}

/// Whether the last change of a trainee is final: no transaction that is still open can be
/// committed before it. Every change on SQLite is.
pub(crate) struct IsFinal {
    /// Changes before it are, on a server of its timeline.
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
        // A server of another timeline, or with smaller numbers, is not the one that was looked at.
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

/// Whether a snapshot does not see the last change of a trainee.
pub(crate) struct IsUnseen {
    next: i64,
    /// The numbers of the transactions that were open, separated by commas.
    open: String,
}

impl IsUnseen {
    /// On SQLite no transaction was open: a snapshot that says otherwise is of another database,
    /// and its cursor is outdated.
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

/// The transactions of a PostgreSQL server that are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransactions {
    /// The oldest of them: every change before it is final.
    pub oldest: i64,
    /// The number of the next one.
    pub next: i64,
    /// The timeline of the server; `None` on a standby, which says nothing of the open transactions
    /// of its primary.
    pub timeline: Option<i64>,
    /// The oldest one that may yet be committed, however old it is: it waits for a standby, or is
    /// prepared, or nobody here may know what it does.
    pub oldest_to_be_kept: Option<i64>,
}

#[derive(QueryableByName)]
struct OpenTransactionsRow {
    #[diesel(sql_type = BigInt)]
    oldest: i64,
    #[diesel(sql_type = BigInt)]
    next: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    timeline: Option<i64>,
    /// Without the upper half of its bits.
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

const TIMELINE_SQL: &str = timeline!();

/// A backend that waits inside an active statement may be waiting in its COMMIT.
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
        // The number is one of the last 2^31.
        let whole = |lower: i64| row.next - ((row.next - lower) & 0xffff_ffff);
        let oldest_to_be_kept = row.kept.map(whole);
        let OpenTransactionsRow {
            oldest,
            next,
            timeline,
            ..
        } = row;
        Ok(Some(OpenTransactions {
            oldest,
            next,
            timeline,
            oldest_to_be_kept,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_sees_what_was_committed_before_it() {
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
    fn a_snapshot_with_many_open_transactions_sees_less_and_never_more() {
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
