//! The background task that sends queued mails.

use std::pin::pin;
use std::time::Duration;

use actix_web::rt;
use actix_web::rt::time::timeout;
use http_kit::error_chain::Causes;
use http_kit::metrics::{self, MailOutcome};
use storage::accounts::mails::{Claim, ClaimedMail, Mail};
use storage::error::StorageError;
use storage::store::Store;

use super::Mailer;
use super::text::MailText;
use super::transport::SendError;

/// The pause between two searches for due mails.
const PAUSE: Duration = Duration::from_secs(1);
/// The time between two renewals of the claim of a mail while it is sent.
const CLAIM_RENEWAL: Duration = Duration::from_secs(3);
/// The pause after the store has failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// The pause between two searches for tokens that expire.
const REMINDER_PAUSE: Duration = Duration::from_mins(10);

/// Starts sending, which runs as long as the server. Must be called on a `LocalSet`.
pub fn start(store: Store, mailer: Mailer) {
    rt::spawn(queue_reminders(store.clone()));
    rt::spawn(async move {
        loop {
            let pause = match send_due(&store, &mailer).await {
                Ok(()) => PAUSE,
                Err(error) => {
                    log::warn!("mails not sent; trying again: {}", Causes(&error));
                    PAUSE_AFTER_FAILURE
                }
            };
            rt::time::sleep(pause).await;
        }
    });
}

/// Queues reminders of tokens that expire.
async fn queue_reminders(store: Store) {
    let mut time = rt::time::interval(REMINDER_PAUSE);
    loop {
        time.tick().await;
        let queued = match store.read(|session| session.has_due_reminder()).await {
            Ok(true) => store.write(|session| session.queue_reminders()).await,
            Ok(false) => Ok(0),
            Err(error) => Err(error),
        };
        match queued {
            Ok(0) => {}
            Ok(mails) => log::info!("reminders of tokens that expire queued; mails: {mails}"),
            // Another server has queued the same reminders.
            Err(error) if error.is_unique_violation() => {}
            Err(error) => log::warn!("reminders of tokens not queued: {}", Causes(&error)),
        }
    }
}

/// Sends all due mails, one after the other.
async fn send_due(store: &Store, mailer: &Mailer) -> Result<(), StorageError> {
    let targets = mailer.sites.targets();
    while store.read(|session| session.has_due_mail()).await? {
        let claimed = store
            .write(move |session| session.claim_mail(targets))
            .await?;
        let Some(claimed) = claimed else {
            // Another server sends the mail.
            return Ok(());
        };
        process(store, mailer, claimed).await?;
    }
    Ok(())
}

/// Sends a claimed mail, and finishes or delays it.
async fn process(store: &Store, mailer: &Mailer, claimed: ClaimedMail) -> Result<(), StorageError> {
    let ClaimedMail {
        id,
        kind,
        attempt,
        claim,
    } = claimed;
    let name = kind.name();
    let mail = match claim {
        Claim::Send(mail) => mail,
        Claim::NotNeeded => {
            metrics::mails(kind.name(), MailOutcome::NotNeeded).increment(1);
            return Ok(());
        }
        Claim::GivenUp => {
            log::warn!("mail {id} ({name}) given up: too old");
            metrics::mails(kind.name(), MailOutcome::GivenUp).increment(1);
            return Ok(());
        }
    };
    // A client that compares Message-IDs must show each attempt, because each has its own link.
    let message_name = format!("{id}.{attempt}.{}", store.now().timestamp_millis());
    match send_while_claimed(store, mailer, id, &message_name, &mail).await? {
        Ok(()) => {
            store.write(move |session| session.finish_mail(id)).await?;
            log::info!("mail {id} ({name}) sent");
            metrics::mails(kind.name(), MailOutcome::Sent).increment(1);
        }
        Err(SendError::Unusable) => {
            store.write(move |session| session.remove_mail(id)).await?;
            log::warn!("mail {id} ({name}) given up: {}", SendError::Unusable);
            metrics::mails(kind.name(), MailOutcome::GivenUp).increment(1);
        }
        Err(error) => {
            let pause = store
                .write(move |session| session.delay_mail(id, attempt))
                .await?;
            log::warn!(
                "mail {id} ({name}) not sent in attempt {attempt}; next attempt in {pause} s: {error}"
            );
            metrics::mails(kind.name(), MailOutcome::Failed).increment(1);
        }
    }
    Ok(())
}

/// Sends a mail once, and renews its claim until the mail server has answered. Stops sending if the
/// claim cannot be renewed, because another server may then send the mail.
async fn send_while_claimed(
    store: &Store,
    mailer: &Mailer,
    id: i64,
    name: &str,
    mail: &Mail,
) -> Result<Result<(), SendError>, StorageError> {
    let mut sending = pin!(send(mailer, name, mail));
    loop {
        match timeout(CLAIM_RENEWAL, &mut sending).await {
            Ok(outcome) => return Ok(outcome),
            Err(_) => {
                store
                    .write(move |session| session.renew_mail_claim(id))
                    .await?;
            }
        }
    }
}

/// Sends a mail once. `name` makes its Message-ID.
async fn send(mailer: &Mailer, name: &str, mail: &Mail) -> Result<(), SendError> {
    let text = MailText::new(&mail.content, &mailer.sites, mailer.environment)?;
    mailer
        .server
        .send(name, &mail.to, &text.subject, text.body)
        .await
}
