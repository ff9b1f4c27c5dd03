//! What a server does besides answering: it removes what is no longer needed, a little at a time,
//! makes the partitions of coming months, counts the tokens that expire soon, and makes statistics
//! of a register that grows from nothing.

use std::time::Duration;

use actix_web::rt;
use storage::accounts::tokens::EXPIRES_SOON_DAYS;
use storage::error::StorageError;
use storage::session::Session;
use storage::store::Store;

use http_kit::error_chain::Causes;
use http_kit::metrics;

/// How often a server looks for what it can remove.
const PAUSE: Duration = Duration::from_secs(600);
/// How often a server asks whether the register has grown much. For so long statements may be
/// planned for an empty one.
const GROWTH_PAUSE: Duration = Duration::from_secs(5);
/// Rows that are removed in one transaction.
const BATCH: u16 = 500;

/// Looks after the store as long as the server runs. Must be called where the server runs.
pub fn start(store: Store) {
    rt::spawn(follow_growth(store.clone()));
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            for (what, remove) in REMOVALS {
                if let Err(error) = remove_all(&store, remove).await {
                    log::warn!("old {what} were not removed: {}", Causes(&error));
                }
            }
            if let Err(error) = make_partitions(&store).await {
                log::warn!(
                    "partitions of coming months were not made: {}",
                    Causes(&error)
                );
            }
            match store.read(count_expiring_tokens).await {
                Ok(tokens) => metrics::tokens_expiring(tokens),
                Err(error) => log::warn!(
                    "tokens that expire soon were not counted: {}",
                    Causes(&error)
                ),
            }
        }
    });
}

/// Makes statistics of the trainees whenever there are many more; ends on SQLite.
async fn follow_growth(store: Store) {
    loop {
        rt::time::sleep(GROWTH_PAUSE).await;
        let due: Result<_, StorageError> = store.read(|session| session.statistics_are_due()).await;
        let made = match due {
            Ok(None) => return,
            Ok(Some(false)) => continue,
            Ok(Some(true)) => store.write(|session| session.make_statistics()).await,
            Err(error) => Err(error),
        };
        match made {
            Ok(()) => log::info!("statistics of the trainees were made: there are many more"),
            // A database that is away is reported by the probe, and asked again soon.
            Err(error) => log::debug!(
                "statistics of the trainees were not made: {}",
                Causes(&error)
            ),
        }
    }
}

/// Makes the partitions of the history that are missing, on PostgreSQL; nothing where there are
/// all.
async fn make_partitions(store: &Store) -> Result<(), StorageError> {
    if store
        .read(|session| session.missing_partitions())
        .await?
        .is_empty()
    {
        return Ok(());
    }
    for month in store.write(|session| session.make_partitions()).await? {
        log::info!("the history has a partition for {month}");
    }
    Ok(())
}

/// How many tokens expire soon.
///
/// # Errors
///
/// When the database does not answer.
pub fn count_expiring_tokens(session: &mut Session<'_>) -> Result<usize, StorageError> {
    Ok(session.list_expiring_tokens(None, EXPIRES_SOON_DAYS)?.len())
}

/// Removes in one job so many at most, and says how many there were.
type Remove = fn(&mut Session<'_>, i64) -> Result<usize, StorageError>;

/// What is removed: replies that are no longer found by their keys, the locks of those keys, and
/// counts and logged requests of days that are no longer kept; of the settings, links, attempts to
/// sign in and sessions that have expired, and old entries of the activity log; and old imports.
const REMOVALS: [(&str, Remove); 9] = [
    ("replies", |session, most| session.remove_old_replies(most)),
    ("idempotency locks", |session, most| {
        session.remove_old_idempotency_locks(most)
    }),
    ("counts of usage", |session, most| {
        session.remove_old_usage(most)
    }),
    ("requests in the log", |session, most| {
        session.remove_old_requests(most)
    }),
    ("links of invitations", |session, most| {
        session.remove_old_invitations(most)
    }),
    ("attempts to sign in", |session, most| {
        session.remove_old_sign_in_attempts(most)
    }),
    ("sessions of users", |session, most| {
        session.remove_old_sign_in_sessions(most)
    }),
    ("entries of the activity log", |session, most| {
        session.remove_old_activity(most)
    }),
    ("imports", |session, most| session.remove_old_imports(most)),
];

/// Removes all that is old, in as many jobs as it takes.
async fn remove_all(store: &Store, remove: Remove) -> Result<(), StorageError> {
    while store
        .write(move |session| remove(session, i64::from(BATCH)))
        .await?
        >= usize::from(BATCH)
    {}
    Ok(())
}
