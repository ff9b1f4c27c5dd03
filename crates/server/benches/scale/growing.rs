//! Fills a register with as many trainees as asked for: some are invented, as those of a sandbox, and the rest are
//! copies of them by the database itself, with keys, identifiers, days of birth and e-mail addresses of their own.

use std::error::Error;

use chrono::Utc;
use diesel::connection::SimpleConnection;
use diesel::{Connection as _, PgConnection, SqliteConnection};
use domain::academic_year;
use storage::error::StorageError;
use storage::store::Store;

/// Providers in a register.
pub(super) const PROVIDERS: usize = 200;
/// The part of all trainees that the first provider has is one in so many.
const PART_OF_FIRST: usize = 5;
/// Academic cycles over which the trainees are spread evenly.
pub(super) const CYCLES: i32 = 3;
/// Trainees that are invented; the others are their copies.
const INVENTED: usize = 10_000;
/// Invented trainees among whom there are enough of each cycle.
const SOWN: usize = 50_000;
const SEED: u64 = 2_026;

/// Tables whose rows belong to a trainee, with the column that identifies a row besides its key.
const PARTS: [(&str, Option<&str>); 5] = [
    ("trainee_disabilities", None),
    ("withdrawals", None),
    ("placements", Some("placement_id")),
    ("degrees", Some("degree_id")),
    ("changes", None),
];

/// The UKPRN of a provider, by its number from 0.
pub(super) fn ukprn(number: usize) -> String {
    format!("{}", 10_000_001 + number)
}

/// The newest of the cycles.
pub(super) fn last_cycle() -> i32 {
    academic_year::of(Utc::now().date_naive())
}

/// What is said differently to the two databases.
struct Dialect {
    /// An identifier that no other row has.
    identifier: &'static str,
    /// The next day of birth.
    next_birthday: &'static str,
    /// A moment near that of the change.
    other_moment: &'static str,
    /// Gives back the room of rows that are gone.
    compact: &'static str,
    /// What is done when all rows are there.
    settle: &'static str,
}

const SQLITE: Dialect = Dialect {
    identifier: "lower(hex(randomblob(12)))",
    next_birthday: "date(date_of_birth, '+1 day')",
    other_moment: "strftime('%Y-%m-%d %H:%M:%f', updated_at, (random() % 3600) || '.' || abs(random() % 1000) || ' seconds')",
    compact: "VACUUM",
    settle: "PRAGMA wal_checkpoint(TRUNCATE)",
};
const POSTGRES: Dialect = Dialect {
    identifier: "substr(md5(random()::text || clock_timestamp()), 1, 24)",
    next_birthday: "date_of_birth + 1",
    other_moment: "date_trunc('milliseconds', updated_at + (random() - 0.5) * interval '2 hours')",
    compact: "VACUUM FULL",
    settle: "SELECT setval(pg_get_serial_sequence('trainees', 'id'), max(id)) FROM trainees;
             SELECT setval(pg_get_serial_sequence('withdrawals', 'id'), max(id)) FROM withdrawals;
             SELECT setval(pg_get_serial_sequence('placements', 'id'), max(id)) FROM placements;
             SELECT setval(pg_get_serial_sequence('degrees', 'id'), max(id)) FROM degrees;
             SELECT setval(pg_get_serial_sequence('changes', 'id'), max(id)) FROM changes",
};

/// Fills the register behind the store, unless that was done before.
pub(super) fn grow(store: &Store, url: &str, trainees: usize) -> Result<(), Box<dyn Error>> {
    if !store.read_blocking(|session| session.list_providers())?.is_empty() {
        return Ok(());
    }
    eprintln!("scale: filling a register with {trainees} trainees");
    store.write_blocking::<_, StorageError>(|session| {
        session.ensure_sandbox_organisations()?;
        for number in 0..PROVIDERS {
            session.add_provider(&ukprn(number), &format!("Provider {number}"))?;
        }
        Ok(())
    })?;
    server::seed::sow(store, domain::Lists::embedded(), &ukprn(0), SOWN, SEED, None, |_| {})?;
    let (mut connection, dialect): (Box<dyn SimpleConnection>, Dialect) = match url.strip_prefix("sqlite://") {
        Some(path) => (Box::new(SqliteConnection::establish(path)?), SQLITE),
        None => (Box::new(PgConnection::establish(url)?), POSTGRES),
    };
    if url.starts_with("sqlite://") {
        // What is lost by a crash here is built again.
        connection.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON")?;
    }
    spread(&mut *connection)?;
    connection.batch_execute(dialect.compact)?;
    copy(&mut *connection, &dialect, trainees / INVENTED)?;
    connection.batch_execute(dialect.settle)?;
    if !url.starts_with("sqlite://") {
        // What autovacuum does within minutes.
        connection.batch_execute("VACUUM (ANALYZE)")?;
    }
    Ok(())
}

/// Keeps as many of each cycle, and shares them out among the providers.
fn spread(connection: &mut dyn SimpleConnection) -> Result<(), Box<dyn Error>> {
    let (first, last) = (last_cycle() + 1 - CYCLES, last_cycle());
    Ok(connection.batch_execute(&format!(
        "DELETE FROM trainees WHERE id NOT IN (
             SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY academic_cycle ORDER BY id) AS place
                             FROM trainees WHERE academic_cycle BETWEEN {first} AND {last}) AS placed
             ORDER BY place LIMIT {INVENTED});
         UPDATE trainees SET provider_id = first.id + placed.number
         FROM (SELECT id, CASE WHEN row_number() OVER (ORDER BY id) % {PART_OF_FIRST} = 0 THEN 0
                          ELSE 1 + row_number() OVER (ORDER BY id) % {others} END AS number FROM trainees) AS placed,
              (SELECT min(id) AS id FROM providers) AS first
         WHERE placed.id = trainees.id",
        others = PROVIDERS - 1,
    ))?)
}

/// Adds copies of all rows until there are so many times as many.
fn copy(connection: &mut dyn SimpleConnection, dialect: &Dialect, times: usize) -> Result<(), Box<dyn Error>> {
    let Dialect { identifier, next_birthday, other_moment, .. } = dialect;
    // Keys of invented trainees and their parts are smaller than this.
    let step = 10 * SOWN;
    let mut once = format!(
        "UPDATE copied_trainees SET id = id + {step}, trainee_id = {identifier}, date_of_birth = {next_birthday},
             email_folded = 'a' || email_folded, updated_at = {other_moment};
         INSERT INTO trainees SELECT * FROM copied_trainees;"
    );
    let mut before = "CREATE TEMPORARY TABLE copied_trainees AS SELECT * FROM trainees;".to_owned();
    for (table, identified) in PARTS {
        before += &format!("CREATE TEMPORARY TABLE copied_{table} AS SELECT * FROM {table};");
        let key = if table == "trainee_disabilities" { String::new() } else { format!(", id = id + {step}") };
        let identifier = identified.map(|column| format!(", {column} = {identifier}")).unwrap_or_default();
        once += &format!(
            "UPDATE copied_{table} SET trainee_key = trainee_key + {step}{key}{identifier};
             INSERT INTO {table} SELECT * FROM copied_{table};"
        );
    }
    connection.batch_execute(&before)?;
    for done in 1..times {
        connection.batch_execute(&format!("BEGIN; {once} COMMIT"))?;
        if done % 10 == 0 {
            eprintln!("scale: {done} of {times}");
        }
    }
    Ok(())
}
