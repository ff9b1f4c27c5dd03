//! The access of a job to the database: one connection in one transaction, and one `now`.
//!
//! A [`Session`] has the queries without a provider. Authentication turns it into a
//! [`ProviderSession`], the only access to the records of a provider. A `ProviderSession` gives no
//! access to the `Session`.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use database::clock::JobTime;
use database::connection::prepared::DataVersion;
use database::connection::{DatabaseConnection, execute_deferred, static_query, with_inner};
use database::jobs::transaction::{ConnectionMemory, Transaction};
use database::positions::LockedProviders;
use diesel::prelude::*;
use stored_document::sql_dates::Day;

use crate::base::cause::Cause;
use crate::base::standing::{STANDING, Standing, StandingRow};
use crate::base::token::TokenDigest;
use crate::base::trainee_row::{TRAINEE_ROW, TraineeRow, is_visible};
use crate::error::{DatabaseError, StorageError};
use crate::identifiers::can_be_identifier;
use crate::schema::{provider_positions, providers, tokens, trainees};
use crate::session::token_cache::TokenCache;

pub(crate) mod token_cache;

/// A job's access to the register, before authentication.
pub struct Session<'a> {
    pub(crate) connection: &'a mut DatabaseConnection,
    time: &'a mut JobTime,
    /// The providers whose records the job may change; `None` for a job that only reads.
    locked: Option<&'a mut LockedProviders>,
    /// The token cache of the connection; `None` for connections without one.
    token_cache: Option<&'a mut TokenCache>,
}

/// A job's access to the records of one provider.
pub struct ProviderSession<'a> {
    pub(crate) connection: &'a mut DatabaseConnection,
    time: &'a mut JobTime,
    provider: Arc<Provider>,
    cause: Cause<'a>,
    /// The authenticated token; `None` when an operator opened the session.
    token: Option<UsedToken>,
    locked: Option<&'a mut LockedProviders>,
    /// The identifier and row of the trainee that authentication loaded together with the token.
    found: Option<(String, Option<TraineeRow>)>,
    /// The standing that authentication loaded together with the token; `None` if the job may
    /// write. It is that of the job's snapshot: only lists and changes use it, and their jobs read
    /// one snapshot.
    pub(crate) standing: Option<Standing>,
}

/// A token with its expiry and the date of its last use.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct UsedToken {
    id: i64,
    expires_on: Day,
    last_used_on: Option<Day>,
}

impl UsedToken {
    /// Whether the stored date of last use is today or tomorrow. Tomorrow may come from a server
    /// whose clock is ahead. A later date comes from a wrong clock and is replaced.
    fn use_is_recorded(&self, today: NaiveDate) -> bool {
        let tomorrow = today.succ_opt().unwrap_or(today);
        self.last_used_on
            .is_some_and(|day| (today..=tomorrow).contains(&day.0))
    }
}

/// A provider, its token, and the stored digest of the token.
type TokenRow = (Provider, UsedToken, String);

/// The columns of [`Provider`].
const PROVIDER: (providers::id, providers::ukprn, providers::name) =
    (providers::id, providers::ukprn, providers::name);
/// The columns of [`UsedToken`].
const USED_TOKEN: (tokens::id, tokens::expires_on, tokens::last_used_on) =
    (tokens::id, tokens::expires_on, tokens::last_used_on);

/// The token with the digest and its provider. No row when the token is revoked or has expired, or
/// the provider is closed.
#[diesel::dsl::auto_type(no_type_alias)]
fn valid_token(digest: &TokenDigest, today: Day) -> _ {
    let digest: String = digest.as_hex().to_owned();
    tokens::table
        .inner_join(providers::table)
        .filter(tokens::digest.eq(digest))
        .filter(tokens::revoked_at.is_null())
        .filter(tokens::expires_on.gt(today))
        .filter(providers::closed_at.is_null())
}

/// Returns the found token when its stored digest equals `digest`. Compares in constant time,
/// unlike the database.
fn accepted(found: Option<TokenRow>, digest: &TokenDigest) -> Option<(Arc<Provider>, UsedToken)> {
    let (provider, used, _) = found.filter(|(_, _, stored)| digest.is_stored_as(stored))?;
    Some((Arc::new(provider), used))
}

/// A token that was valid when the request was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidToken {
    /// The token's number, as `token list` shows it.
    pub id: i64,
    /// The number of the token's provider.
    pub provider_id: i64,
    /// The expiry date. The token is invalid from the start (UTC) of this day.
    pub expires_on: NaiveDate,
}

/// A provider whose records a job reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Provider {
    pub(crate) id: i64,
    /// The UK provider reference number, eight digits.
    pub ukprn: String,
    /// The provider's name.
    pub name: String,
}

impl<'a> Session<'a> {
    /// The session of a job in a transaction.
    pub(crate) fn new(transaction: &'a mut Transaction<'_>) -> Self {
        let token_cache = transaction
            .memory
            .as_deref_mut()
            .and_then(ConnectionMemory::get);
        Self {
            connection: &mut *transaction.connection,
            time: &mut transaction.time,
            locked: transaction.locked.as_deref_mut(),
            token_cache,
        }
    }

    /// The start time of the job, truncated to milliseconds. Use this time to determine today's
    /// date and what has expired.
    pub fn now(&self) -> DateTime<Utc> {
        self.time.now()
    }

    /// The date of [`Session::now`] in UTC.
    pub fn today(&self) -> NaiveDate {
        self.now().date_naive()
    }

    /// Opens the records of a token's provider. Returns `None` when the token is unknown, revoked
    /// or expired, or its provider is closed. A token is invalid from the start (UTC) of its expiry
    /// date.
    ///
    /// The history records `cause` with each change made through the returned session. On
    /// PostgreSQL, if the job only reads, the same statement reads the provider's standing, which
    /// saves a list a round trip.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn authenticate<'b>(
        &'b mut self,
        digest: &TokenDigest,
        cause: Cause<'b>,
    ) -> Result<Option<ProviderSession<'b>>, StorageError> {
        let today = Day(self.today());
        // On SQLite, the cached tokens are valid if the file has not changed.
        if let (DatabaseConnection::Sqlite(inner), Some(cache)) =
            (&mut *self.connection, &mut self.token_cache)
        {
            let data_version = DataVersion.get_result(inner)?;
            let found = cache
                .for_data_version(data_version)
                .get(digest)
                .filter(|(_, token)| token.expires_on > today);
            if let Some((provider, token)) = found.cloned() {
                return Ok(Some(self.open(provider, cause, Some(token))));
            }
        }
        let token = (PROVIDER, USED_TOKEN, tokens::digest);
        let valid = valid_token(digest, today);
        let (found, standing) = match &mut *self.connection {
            DatabaseConnection::Postgres(inner) if self.locked.is_none() => {
                let provider = provider_positions::provider_id.eq(tokens::provider_id);
                let positions = provider_positions::table.on(provider);
                let query = valid
                    .left_join(positions)
                    .select((token, STANDING.nullable()));
                type Row = (TokenRow, Option<StandingRow>);
                let found = static_query(query).get_result::<Row>(inner).optional()?;
                found.unzip()
            }
            DatabaseConnection::Postgres(_) | DatabaseConnection::Sqlite(_) => {
                let query = static_query(valid.select(token));
                let found =
                    with_inner!(self.connection, |inner| query.get_result::<TokenRow>(inner));
                (found.optional()?, None)
            }
        };
        let Some((provider, used)) = accepted(found, digest) else {
            return Ok(None);
        };
        if let Some(cache) = &mut self.token_cache {
            cache.insert(digest, Arc::clone(&provider), used.clone());
        }
        let mut session = self.open(provider, cause, Some(used));
        session.standing = standing.flatten().map(Standing::from);
        Ok(Some(session))
    }

    /// Like [`Session::authenticate`], but for a request about one trainee. On PostgreSQL the
    /// same statement loads the trainee with the identifier, if the trainee belongs to the token's
    /// provider. [`ProviderSession::show_trainee`] and [`ProviderSession::find_trainee`] then
    /// return the trainee without another query.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn authenticate_for_trainee<'b>(
        &'b mut self,
        digest: &TokenDigest,
        cause: Cause<'b>,
        trainee_id: &str,
    ) -> Result<Option<ProviderSession<'b>>, StorageError> {
        let today = Day(self.today());
        let inner = match &mut *self.connection {
            DatabaseConnection::Postgres(inner) if can_be_identifier(trainee_id) => inner,
            DatabaseConnection::Postgres(_) | DatabaseConnection::Sqlite(_) => {
                return self.authenticate(digest, cause);
            }
        };
        let shown = trainees::table.on(trainees::provider_id
            .eq(tokens::provider_id)
            .and(trainees::trainee_id.eq(trainee_id))
            .and(is_visible()));
        let columns = (
            (PROVIDER, USED_TOKEN, tokens::digest),
            TRAINEE_ROW.nullable(),
        );
        let query = static_query(valid_token(digest, today).left_join(shown).select(columns));
        let found = query
            .get_result::<(TokenRow, Option<TraineeRow>)>(inner)
            .optional()?;
        let (token, shown) = found.unzip();
        Ok(self.open_with_trainee(accepted(token, digest), cause, trainee_id, shown.flatten()))
    }

    /// Opens the records of a token's provider, and keeps the trainee for the queries of the job.
    /// Returns `None` without a token.
    fn open_with_trainee<'b>(
        &'b mut self,
        token: Option<(Arc<Provider>, UsedToken)>,
        cause: Cause<'b>,
        trainee_id: &str,
        trainee: Option<TraineeRow>,
    ) -> Option<ProviderSession<'b>> {
        let (provider, used) = token?;
        let mut session = self.open(provider, cause, Some(used));
        session.found = Some((trainee_id.to_owned(), trainee));
        Some(session)
    }

    /// Opens the records of a provider, for the owner of `token`, or for an operator without one.
    pub(crate) fn open<'b>(
        &'b mut self,
        provider: Arc<Provider>,
        cause: Cause<'b>,
        token: Option<UsedToken>,
    ) -> ProviderSession<'b> {
        ProviderSession {
            connection: &mut *self.connection,
            time: &mut *self.time,
            provider,
            cause,
            token,
            locked: self.locked.as_deref_mut(),
            found: None,
            standing: None,
        }
    }
}

impl Session<'_> {
    /// Locks a provider without opening its records. Does nothing in a job that only reads.
    ///
    /// # Errors
    ///
    /// Like [`ProviderSession::lock_records`].
    pub(crate) fn lock_provider(&mut self, provider: i64) -> Result<(), StorageError> {
        if let Some(locked) = self.locked.as_deref_mut() {
            locked.lock(self.connection, provider)?;
        }
        Ok(())
    }

    /// Opens the records of a provider for an operator; `None` when no provider has this UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn open_provider<'b>(
        &'b mut self,
        ukprn: &str,
        cause: Cause<'b>,
    ) -> Result<Option<ProviderSession<'b>>, StorageError> {
        let provider = providers::table.filter(providers::ukprn.eq(ukprn)).select((
            providers::id,
            providers::ukprn,
            providers::name,
        ));
        let found = with_inner!(self.connection, |inner| provider
            .get_result::<Provider>(inner))
        .optional()?;
        Ok(found.map(|provider| self.open(Arc::new(provider), cause, None)))
    }

    /// Opens the records of a trainee's provider for an operator; `None` when no trainee has this
    /// identifier.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn open_trainee<'b>(
        &'b mut self,
        trainee_id: &str,
        cause: Cause<'b>,
    ) -> Result<Option<ProviderSession<'b>>, StorageError> {
        if !can_be_identifier(trainee_id) {
            return Ok(None);
        }
        let owner = trainees::table
            .inner_join(providers::table)
            .filter(trainees::trainee_id.eq(trainee_id))
            .select(providers::ukprn);
        match with_inner!(self.connection, |inner| owner.get_result::<String>(inner)).optional()? {
            Some(ukprn) => self.open_provider(&ukprn, cause),
            None => Ok(None),
        }
    }
}

impl<'a> ProviderSession<'a> {
    /// The provider whose records this session can reach.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Like [`Session::now`].
    pub fn now(&self) -> DateTime<Utc> {
        self.time.now()
    }

    /// The time for the next change of a trainee: later than the last change of the trainee that
    /// the job found last, and up to a second ahead of the clock. Use it for every time in the
    /// record of the trainee.
    pub fn change_date(&self) -> DateTime<Utc> {
        self.time.change_date()
    }

    /// Makes [`ProviderSession::change_date`] later than the trainee's last change: clients rely on
    /// `updated_at`, and placements are ordered by time.
    pub(crate) fn come_after(&mut self, last_change: Option<DateTime<Utc>>) {
        if let Some(last_change) = last_change {
            self.time.come_after(last_change);
        }
    }

    /// The date of [`ProviderSession::now`] in UTC.
    pub fn today(&self) -> NaiveDate {
        self.now().date_naive()
    }

    /// The request or command that runs the job.
    pub(crate) fn cause(&self) -> Cause<'a> {
        self.cause
    }

    /// The number of the authenticated token; `None` when an operator opened the session.
    pub fn token_id(&self) -> Option<i64> {
        self.token.as_ref().map(|token| token.id)
    }

    /// The authenticated token; `None` when an operator opened the session.
    pub fn token(&self) -> Option<ValidToken> {
        let token = self.token.as_ref()?;
        Some(ValidToken {
            id: token.id,
            provider_id: self.provider.id,
            expires_on: token.expires_on.0,
        })
    }

    /// Locks the provider until the job has ended, and takes the time of the job then. Must be
    /// called before anything is read that a change depends on. Does nothing in a job that only
    /// reads.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`](database::error::DatabaseError::Busy) when another transaction holds
    /// the lock for too long.
    pub(crate) fn lock_records(&mut self) -> Result<(), StorageError> {
        let Some(locked) = self.locked.as_deref_mut() else {
            return Ok(());
        };
        let provider = self.provider.id;
        if locked.lock(self.connection, provider)? {
            *self.time = locked.job_time(Some(provider));
        } else {
            locked.follow_last_change(provider, self.time);
        }
        Ok(())
    }

    /// Whether the job may write.
    pub(crate) fn may_write(&self) -> bool {
        self.locked.is_some()
    }

    /// Takes the next position of the provider's changes, for a change at
    /// [`ProviderSession::change_date`].
    pub(crate) fn take_position(&mut self) -> Result<i64, StorageError> {
        self.lock_records()?;
        let date = self.time.change_date();
        let locked = self.locked.as_deref_mut();
        let locked = locked.ok_or(DatabaseError::ProviderNotLocked)?;
        Ok(locked.take_position(self.provider.id, date)?)
    }

    /// Takes the result of loading the trainee together with the token. The outer `Option` is
    /// `None` when authentication did not look for this identifier, or the result was taken before.
    pub(crate) fn take_found(&mut self, trainee_id: &str) -> Option<Option<TraineeRow>> {
        self.found
            .take_if(|(sought, _)| sought == trainee_id)
            .map(|(_, found)| found)
    }

    /// Whether today's use of the token is already recorded. If not, a job that only reads must be
    /// followed by a write that calls [`ProviderSession::record_token_use`].
    pub fn token_use_is_recorded(&self) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.use_is_recorded(self.today()))
    }

    /// Records today's use of the token. Runs no statement when it is already recorded.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn record_token_use(&mut self) -> Result<(), StorageError> {
        let today = Day(self.today());
        let Some(token) = self
            .token
            .as_mut()
            .filter(|token| !token.use_is_recorded(today.0))
        else {
            return Ok(());
        };
        let used = diesel::update(tokens::table.find(token.id)).set(tokens::last_used_on.eq(today));
        execute_deferred!(self.connection, |inner| used.execute(inner))?;
        token.last_used_on = Some(today);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
