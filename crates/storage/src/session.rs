//! What a job can reach: one connection in one transaction, and one `now`.
//!
//! A [`Session`] offers what needs no provider. A [`ProviderSession`] is what authentication makes
//! of it, and the only way to records that belong to a provider; it does not lead back to the
//! session.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use database::clock::JobTime;
use database::connection::prepared::DataVersion;
use database::connection::{
    Access, DatabaseConnection, QueryQueue as _, execute_deferred, static_query, with_inner,
};
use database::jobs::transaction::{ConnectionMemory, Transaction};
use diesel::prelude::*;
use stored_document::sql_dates::Day;

use crate::base::cause::Cause;
use crate::base::token::TokenDigest;
use crate::base::trainee_row::{TRAINEE_ROW, TraineeRow, is_visible};
use crate::error::StorageError;
use crate::identifiers::can_be_identifier;
use crate::schema::{providers, tokens, trainees};
use crate::session::token_cache::TokenCache;

pub(crate) mod token_cache;

/// A job's access to the register, before it is known for whom.
pub struct Session<'a> {
    pub(crate) connection: &'a mut DatabaseConnection,
    access: Access,
    time: &'a mut JobTime,
    /// Whether the job may wait for rows that another transaction has locked. One that shares its
    /// transaction may not.
    may_wait: bool,
    /// The tokens that need not be queried while nothing is committed, where there are any.
    token_cache: Option<&'a mut TokenCache>,
}

/// A job's access to the records of one provider.
pub struct ProviderSession<'a> {
    pub(crate) connection: &'a mut DatabaseConnection,
    access: Access,
    time: &'a mut JobTime,
    provider: Arc<Provider>,
    cause: Cause<'a>,
    /// The token that opened the records, unless an operator did.
    token: Option<UsedToken>,
    may_wait: bool,
    /// The trainee that was found together with the token, by its identifier, if one was sought.
    found: Option<(String, Option<TraineeRow>)>,
}

/// A token, and when it was last used.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct UsedToken {
    id: i64,
    expires_on: Day,
    last_used_on: Option<Day>,
}

impl UsedToken {
    /// Whether it is on record that the token was used on this day, or on the next by a clock that
    /// is ahead. A later day is that of a clock that was wrong, and does not count.
    fn use_is_recorded(&self, today: NaiveDate) -> bool {
        let tomorrow = today.succ_opt().unwrap_or(today);
        self.last_used_on
            .is_some_and(|day| (today..=tomorrow).contains(&day.0))
    }
}

type TokenRow = (Provider, UsedToken, String);

const PROVIDER: (providers::id, providers::ukprn, providers::name) =
    (providers::id, providers::ukprn, providers::name);
const USED_TOKEN: (tokens::id, tokens::expires_on, tokens::last_used_on) =
    (tokens::id, tokens::expires_on, tokens::last_used_on);

/// The token with the digest and its provider, unless it is revoked or has expired, or the provider
/// is closed.
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

/// The database compares as it likes; what is accepted is compared in the same time for every
/// digest.
fn accepted(found: Option<TokenRow>, digest: &TokenDigest) -> Option<(Arc<Provider>, UsedToken)> {
    let (provider, used, _) = found.filter(|(_, _, stored)| digest.is_stored_as(stored))?;
    Some((Arc::new(provider), used))
}

/// A token that was valid when a request came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidToken {
    /// Its number, as `token list` shows it.
    pub id: i64,
    /// The number of its provider.
    pub provider_id: i64,
    /// The first day on which it is refused.
    pub expires_on: NaiveDate,
}

/// The provider for which a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Provider {
    pub(crate) id: i64,
    /// The UK provider reference number, eight digits.
    pub ukprn: String,
    /// The provider's name.
    pub name: String,
}

impl<'a> Session<'a> {
    pub(crate) fn new(transaction: &'a mut Transaction<'_>) -> Self {
        let token_cache = transaction
            .memory
            .as_deref_mut()
            .and_then(ConnectionMemory::get);
        Self {
            connection: &mut *transaction.connection,
            access: transaction.access,
            time: &mut transaction.time,
            may_wait: transaction.may_wait,
            token_cache,
        }
    }

    /// The time by the clock when the job was begun, cut to the millisecond: what has expired, and
    /// what today is, follows from it.
    pub fn now(&self) -> DateTime<Utc> {
        self.time.now()
    }

    /// The date of [`Session::now`] in UTC.
    pub fn today(&self) -> NaiveDate {
        self.now().date_naive()
    }

    /// Opens the records of the provider to which a token belongs; `None` when the token is
    /// unknown, revoked or expired, or its provider is closed. A token is refused from the start of
    /// the day on which it expires.
    ///
    /// The cause is in the history next to each change that is made through the records.
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
        if let (DatabaseConnection::Sqlite(inner), Some(cache)) =
            (&mut *self.connection, &mut self.token_cache)
        {
            let data_version = DataVersion.get_result(inner)?;
            let found = cache
                .at(data_version)
                .get(digest)
                .filter(|(_, token)| token.expires_on > today);
            if let Some((provider, token)) = found.cloned() {
                return Ok(Some(self.open(provider, cause, Some(token))));
            }
        }
        let token =
            static_query(valid_token(digest, today).select((PROVIDER, USED_TOKEN, tokens::digest)));
        let found =
            with_inner!(self.connection, |inner| token.get_result::<TokenRow>(inner)).optional()?;
        let Some((provider, used)) = accepted(found, digest) else {
            return Ok(None);
        };
        if let Some(cache) = &mut self.token_cache {
            cache.insert(digest, Arc::clone(&provider), used.clone());
        }
        Ok(Some(self.open(provider, cause, Some(used))))
    }

    /// As [`Session::authenticate`], for a request that shows the trainee with the identifier: on
    /// PostgreSQL the trainee is found by the same statement, among those of the provider to which
    /// the token belongs; [`ProviderSession::show_trainee`] and [`ProviderSession::find_trainee`]
    /// return it.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn authenticate_to_show<'b>(
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

    /// As [`Session::authenticate`], for a request that changes the trainee with the identifier. On
    /// PostgreSQL the trainee is sought and locked in the same round trip, among those of the
    /// provider to which the token belongs; [`ProviderSession::find_trainee`] returns it.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn authenticate_to_change<'b>(
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
        let token =
            static_query(valid_token(digest, today).select((PROVIDER, USED_TOKEN, tokens::digest)));
        let owner = valid_token(digest, today)
            .select(tokens::provider_id)
            .single_value();
        // The provider stands in a subquery: the rows of a join would all be locked.
        let changed = trainees::table
            .filter(trainees::trainee_id.eq(trainee_id))
            .filter(trainees::provider_id.nullable().eq(owner))
            .select(TRAINEE_ROW)
            .for_no_key_update();
        let token = inner.queue::<_, TokenRow>(token)?;
        let changed = changed.get_result::<TraineeRow>(inner).optional()?;
        let token = accepted(inner.take(token)?.pop(), digest);
        Ok(self.open_with_trainee(token, cause, trainee_id, changed))
    }

    /// Opens the records of the provider of a token, with the trainee that was found together with
    /// it.
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

    fn open<'b>(
        &'b mut self,
        provider: Arc<Provider>,
        cause: Cause<'b>,
        token: Option<UsedToken>,
    ) -> ProviderSession<'b> {
        ProviderSession {
            connection: &mut *self.connection,
            access: self.access,
            time: &mut *self.time,
            provider,
            cause,
            token,
            may_wait: self.may_wait,
            found: None,
        }
    }
}

impl Session<'_> {
    /// Opens the records of a provider to an operator; `None` when no provider has this UKPRN.
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

    /// Opens the records of the provider of a trainee to an operator; `None` when no trainee has
    /// this identifier.
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

    /// Whether the job may write, and must keep others from what it is about to change.
    pub(crate) fn writes(&self) -> bool {
        self.access == Access::Write
    }
}

impl<'a> ProviderSession<'a> {
    /// The provider for which the job runs.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Like [`Session::now`].
    pub fn now(&self) -> DateTime<Utc> {
        self.time.now()
    }

    /// The date of the next change of a trainee: later than the last change of the trainee that was
    /// found last, and up to a second ahead of the clock. Every time in the record of the trainee
    /// is this one.
    pub fn change_date(&self) -> DateTime<Utc> {
        self.time.change_date()
    }

    /// Moves the date of the next change behind the last change of the trainee of that row.
    ///
    /// On PostgreSQL a job waits for those that change the same trainee, also when it began before
    /// them, or on a machine whose clock is behind. What it does comes after what they did, and
    /// must be dated so: the order of placements and `updated_at` tell it.
    pub(crate) fn come_after(&mut self, trainee_key: i64, last_change: Option<DateTime<Utc>>) {
        self.time.come_after(trainee_key, last_change);
    }

    /// Gives the date to a change of a trainee that is dated so; called before it is written.
    pub(crate) fn take_date(
        &mut self,
        updated_at: Option<DateTime<Utc>>,
    ) -> Result<(), StorageError> {
        if updated_at == Some(self.change_date()) {
            Ok(self.time.take()?)
        } else {
            Ok(())
        }
    }

    /// The date of [`ProviderSession::now`] in UTC.
    pub fn today(&self) -> NaiveDate {
        self.now().date_naive()
    }

    /// Through what the job came about.
    pub(crate) fn cause(&self) -> Cause<'a> {
        self.cause
    }

    /// The token that opened the records, unless an operator did.
    pub fn token_id(&self) -> Option<i64> {
        self.token.as_ref().map(|token| token.id)
    }

    /// The same, with its end.
    pub fn token(&self) -> Option<ValidToken> {
        let valid = |token: &UsedToken| ValidToken {
            id: token.id,
            provider_id: self.provider.id,
            expires_on: token.expires_on.0,
        };
        self.token.as_ref().map(valid)
    }

    /// Whether the job may write, and must keep others from what it is about to change.
    pub(crate) fn writes(&self) -> bool {
        self.access == Access::Write
    }

    /// Whether the job may wait for rows that another transaction has locked.
    pub(crate) fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// The trainee with the identifier, if it was sought together with the token.
    pub(crate) fn take_found(&mut self, trainee_id: &str) -> Option<Option<TraineeRow>> {
        self.found
            .take_if(|(sought, _)| sought == trainee_id)
            .map(|(_, found)| found)
    }

    /// Whether it is already on record that the token was used today. A job that only reads asks
    /// this, to know whether a write is due.
    pub fn token_use_is_recorded(&self) -> bool {
        self.token
            .as_ref()
            .is_none_or(|token| token.use_is_recorded(self.today()))
    }

    /// Records that the token was used today; costs nothing when that is on record.
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
