//! Background maintenance of a server: removes old rows in small batches, counts tokens that expire soon, and updates statistics of a growing register.

use std::time::Duration;

use actix_web::rt;
use storage::accounts::tokens::EXPIRES_SOON_DAYS;
use storage::error::StorageError;
use storage::session::Session;
use storage::store::Store;

use http_kit::error_chain::Causes;
use http_kit::metrics;

/// The pause between two rounds of maintenance.
const PAUSE: Duration = Duration::from_mins(10);
/// The pause between two checks of the register's growth. PostgreSQL may use query plans for a
/// smaller register during this time.
const GROWTH_PAUSE: Duration = Duration::from_secs(5);
/// The number of rows removed per transaction.
const BATCH: u16 = 500;

/// Starts maintenance, which runs as long as the server. Must be called on a `LocalSet`.
pub fn start(store: Store) {
    rt::spawn(follow_growth(store.clone()));
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            for (what, remove) in REMOVALS {
                if let Err(error) = remove_all(&store, remove).await {
                    log::warn!("old {what} not removed; retrying later: {}", Causes(&error));
                }
            }
            match store.read(count_expiring_tokens).await {
                Ok(tokens) => metrics::tokens_expiring(tokens),
                Err(error) => log::warn!("expiring API tokens not counted: {}", Causes(&error)),
            }
        }
    });
}

/// Updates the statistics of trainees after fast growth. Ends at once on SQLite.
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
            Ok(()) => log::info!("trainee table statistics updated after growth"),
            // The probe reports an unavailable database, and the next check follows soon.
            Err(error) => log::debug!("trainee table statistics not updated: {}", Causes(&error)),
        }
    }
}

/// The number of tokens that expire soon.
///
/// # Errors
///
/// When the database fails.
pub fn count_expiring_tokens(session: &mut Session<'_>) -> Result<usize, StorageError> {
    Ok(session.list_expiring_tokens(None, EXPIRES_SOON_DAYS)?.len())
}

/// Removes up to the given number of rows in one job, and returns the number of removed rows.
type Remove = fn(&mut Session<'_>, i64) -> Result<usize, StorageError>;

/// The kinds of old rows with their names in the log, and the functions that remove them.
const REMOVALS: [(&str, Remove); 10] = [
    ("uploads", |session, _| session.remove_old_uploads()),
    ("stored replies", |session, most| {
        session.remove_old_replies(most)
    }),
    ("recorded requests", |session, most| {
        session.remove_old_requests(most)
    }),
    ("totals of requests", |session, most| {
        session.remove_old_totals(most)
    }),
    ("invitation links", |session, most| {
        session.remove_old_invitations(most)
    }),
    ("mails", |session, most| session.remove_old_mails(most)),
    ("sign-in attempts", |session, most| {
        session.remove_old_sign_in_attempts(most)
    }),
    ("user sessions", |session, most| {
        session.remove_old_sign_in_sessions(most)
    }),
    ("activity log entries", |session, most| {
        session.remove_old_activity(most)
    }),
    ("import reports", |session, most| {
        session.remove_old_imports(most)
    }),
];

/// Removes all old rows of a kind in as many jobs as needed.
async fn remove_all(store: &Store, remove: Remove) -> Result<(), StorageError> {
    loop {
        let removed = store
            .write(move |session| remove(session, i64::from(BATCH)))
            .await?;
        if removed == 0 {
            return Ok(());
        }
    }
}
