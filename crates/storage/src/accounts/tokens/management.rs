//! Management of tokens by operators and providers: issue, list, replace, revoke.
//!
//! No function returns a digest. The text of a token is returned once, when the token is issued.

use std::ops::RangeInclusive;

use chrono::{DateTime, Days, Months, NaiveDate, NaiveDateTime, Utc};
use diesel::prelude::*;
use domain::values::text::visible_line;

use crate::accounts::users::{ActivityKind, Actor, Subject};
use crate::base::token::{Environment, Token, TokenDigest, TokenStatus};
use crate::error::{Refusal, StorageError};
use crate::schema::{providers, tokens};
use crate::session::{ProviderSession, Session};

/// The longest name of a token, in characters.
pub const MAX_NAME_CHARS: usize = 200;
/// An organisation with this number of active tokens cannot create more; an operator can. Limited
/// because each token has its own rate limit.
const MAX_TOKENS_BY_USERS: i64 = 50;
/// The longest time from the issue of a token to its expiry.
const MAX_LIFETIME: Months = Months::new(6);

/// The allowed days of expiry of a token issued today. `None` if a date would be out of range.
#[must_use]
pub fn expiry_dates(today: NaiveDate) -> Option<RangeInclusive<NaiveDate>> {
    Some(today.succ_opt()?..=today.checked_add_months(MAX_LIFETIME)?)
}

/// A request for a token.
#[derive(Debug, Clone, Copy)]
pub struct NewToken<'a> {
    /// The provider of the token.
    pub provider_ukprn: &'a str,
    /// The environment of the token.
    pub environment: Environment,
    /// The purpose of the token; 1 to 200 characters.
    pub name: &'a str,
    /// Who requested the token.
    pub created_by: Actor<'a>,
    /// The day of expiry; `None` for six months from today.
    pub expires_on: Option<NaiveDate>,
}

/// A request to replace a token.
#[derive(Debug, Clone, Copy)]
pub struct Rotation<'a> {
    /// The environment of the new token.
    pub environment: Environment,
    /// Who requested the token.
    pub created_by: Actor<'a>,
    /// The day of expiry of the new token; `None` for six months from today.
    pub expires_on: Option<NaiveDate>,
    /// The number of days with two accepted tokens, including today; at least one.
    pub overlap: Days,
}

/// A replaced token and its replacement.
#[derive(Debug)]
pub struct Rotated {
    /// The text of the new token.
    pub token: Token,
    /// The new token.
    pub new: TokenRecord,
    /// The old token, which expires at the end of the overlap or at its original expiry, whichever
    /// is earlier.
    pub old: TokenRecord,
}

/// A token, for operators and providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// The number of the token in commands and pages.
    pub id: i64,
    /// The UKPRN of its provider.
    pub provider_ukprn: String,
    /// The name of its provider.
    pub provider_name: String,
    /// The purpose of the token.
    pub name: String,
    /// Who requested the token.
    pub created_by: String,
    /// When the token was issued.
    pub created_at: DateTime<Utc>,
    /// The day of expiry. The token is refused from the start of this day.
    pub expires_on: NaiveDate,
    /// The last day of use.
    pub last_used_on: Option<NaiveDate>,
    /// The time and the actor of its revocation.
    pub revocation: Option<Revocation>,
    /// The status on the day of the query.
    pub status: TokenStatus,
    pub(crate) provider_id: i64,
}

/// The revocation of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// When the token was revoked.
    pub at: DateTime<Utc>,
    /// The actor.
    pub by: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = tokens)]
struct TokenRow {
    id: i64,
    provider_id: i64,
    name: String,
    created_by: String,
    created_at: NaiveDateTime,
    expires_on: NaiveDate,
    last_used_on: Option<NaiveDate>,
    revoked_at: Option<NaiveDateTime>,
    revoked_by: Option<String>,
}

impl Session<'_> {
    /// Issues a token. Only this result contains the text of the token.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidTokenName`], [`Refusal::ExpiryOutOfRange`], [`Refusal::UnknownProvider`]
    /// or [`Refusal::ProviderClosed`]; [`Refusal::TooManyTokens`] only for users.
    pub fn issue_token(
        &mut self,
        request: &NewToken<'_>,
    ) -> Result<(Token, TokenRecord), StorageError> {
        let (token, record) = self.add_token(request)?;
        self.record_token(request.created_by, &record, ActivityKind::TokenIssued, "")?;
        Ok((token, record))
    }

    /// Adds a token. The caller must write the activity log.
    fn add_token(&mut self, request: &NewToken<'_>) -> Result<(Token, TokenRecord), StorageError> {
        let name = visible_line(request.name, MAX_NAME_CHARS).ok_or(Refusal::InvalidTokenName)?;
        let expiry_dates = expiry_dates(self.today()).ok_or(Refusal::ExpiryOutOfRange)?;
        let expires_on = request.expires_on.unwrap_or(*expiry_dates.end());
        if !expiry_dates.contains(&expires_on) {
            return Err(Refusal::ExpiryOutOfRange.into());
        }
        let provider = self.provider(request.provider_ukprn)?;
        if !request.created_by.reaches(Some(provider.id)) {
            return Err(Refusal::UnknownProvider.into());
        }
        if provider.closed_at.is_some() {
            return Err(Refusal::ProviderClosed.into());
        }
        // Only users of an organisation have a provider; operators have no limit.
        if request.created_by.provider_id().is_some()
            && self.active_tokens(provider.id)? >= MAX_TOKENS_BY_USERS
        {
            return Err(Refusal::TooManyTokens.into());
        }
        let token = Token::generate(request.environment)?;
        let id = diesel::insert_into(tokens::table)
            .values((
                tokens::provider_id.eq(provider.id),
                tokens::name.eq(name),
                tokens::digest.eq(TokenDigest::from_text(token.reveal()).as_hex()),
                tokens::created_by.eq(request.created_by.to_string()),
                tokens::created_at.eq(self.now().naive_utc()),
                tokens::expires_on.eq(expires_on),
            ))
            .returning(tokens::id)
            .get_result(self.connection)?;
        Ok((token, self.token(request.created_by, id)?))
    }

    /// The number of active tokens of a provider today.
    fn active_tokens(&mut self, provider_id: i64) -> Result<i64, StorageError> {
        let active = tokens::table
            .filter(tokens::provider_id.eq(provider_id))
            .filter(tokens::revoked_at.is_null())
            .filter(tokens::expires_on.gt(self.today()));
        Ok(active.count().get_result(self.connection)?)
    }

    /// All tokens of a provider, or of all providers, oldest first.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn list_tokens(
        &mut self,
        provider_ukprn: Option<&str>,
    ) -> Result<Vec<TokenRecord>, StorageError> {
        let today = self.today();
        let mut query = tokens::table
            .inner_join(providers::table)
            .order(tokens::id)
            .select((TokenRow::as_select(), providers::ukprn, providers::name))
            .into_boxed();
        if let Some(ukprn) = provider_ukprn {
            query = query.filter(tokens::provider_id.eq(self.provider(ukprn)?.id));
        }
        let rows = query.load::<(TokenRow, String, String)>(self.connection)?;
        rows.into_iter().map(|row| record(row, today)).collect()
    }

    /// Replaces a token with a new one of the same provider and name. Both are accepted for the
    /// overlap, so that the provider's software can switch without a refused request.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownToken`], [`Refusal::TokenEnded`], [`Refusal::OverlapOutOfRange`], or an
    /// error of [`Session::issue_token`].
    pub fn rotate_token(
        &mut self,
        id: i64,
        rotation: &Rotation<'_>,
    ) -> Result<Rotated, StorageError> {
        let by = rotation.created_by;
        let old = self.token(by, id)?;
        match old.status {
            TokenStatus::Active => {}
            TokenStatus::Expired | TokenStatus::Revoked => {
                return Err(Refusal::TokenEnded(old.status).into());
            }
        }
        let today = self.today();
        let until = today
            .checked_add_days(rotation.overlap)
            .filter(|until| *until > today)
            .ok_or(Refusal::OverlapOutOfRange)?;
        let (token, new) = self.add_token(&NewToken {
            provider_ukprn: &old.provider_ukprn,
            environment: rotation.environment,
            name: &old.name,
            created_by: by,
            expires_on: rotation.expires_on,
        })?;
        // An old token that expires before the end of the overlap is not extended.
        diesel::update(tokens::table.find(id).filter(tokens::expires_on.gt(until)))
            .set(tokens::expires_on.eq(until))
            .execute(self.connection)?;
        self.end_reminders(id)?;
        let old = self.token(by, id)?;
        let detail = format!(
            "replaced by token {}, accepted until {}",
            new.id, old.expires_on
        );
        self.record_token(by, &old, ActivityKind::TokenRotated, &detail)?;
        Ok(Rotated { token, new, old })
    }

    /// Revokes a token, effective from the next request. Does nothing if the token is revoked or
    /// expired.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownToken`].
    pub fn revoke_token(&mut self, id: i64, by: Actor<'_>) -> Result<TokenRecord, StorageError> {
        // Refuses a token that the actor may not access.
        self.token(by, id)?;
        let active = tokens::table
            .find(id)
            .filter(tokens::revoked_at.is_null())
            .filter(tokens::expires_on.gt(self.today()));
        let revoked = diesel::update(active)
            .set((
                tokens::revoked_at.eq(self.now().naive_utc()),
                tokens::revoked_by.eq(by.to_string()),
            ))
            .execute(self.connection)?;
        let token = self.token(by, id)?;
        if revoked > 0 {
            self.record_token(by, &token, ActivityKind::TokenRevoked, "")?;
        }
        Ok(token)
    }

    /// A token that the actor may access.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownToken`].
    pub fn token(&mut self, by: Actor<'_>, id: i64) -> Result<TokenRecord, StorageError> {
        let row = tokens::table
            .inner_join(providers::table)
            .filter(tokens::id.eq(id))
            .select((TokenRow::as_select(), providers::ukprn, providers::name))
            .first::<(TokenRow, String, String)>(self.connection)
            .optional()?
            .filter(|(token, ..)| by.reaches(Some(token.provider_id)))
            .ok_or(Refusal::UnknownToken)?;
        record(row, self.today())
    }

    /// Writes an entry about a token to the activity log.
    fn record_token(
        &mut self,
        by: Actor<'_>,
        token: &TokenRecord,
        kind: ActivityKind,
        detail: &str,
    ) -> Result<(), StorageError> {
        self.record_activity(
            by,
            Some(token.provider_id),
            kind,
            Subject::Token(token.id),
            detail,
        )
    }
}

impl ProviderSession<'_> {
    /// All tokens of the provider, oldest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_tokens(&mut self) -> Result<Vec<TokenRecord>, StorageError> {
        let today = self.today();
        let provider = self.provider().clone();
        let rows = tokens::table
            .filter(tokens::provider_id.eq(provider.id))
            .order(tokens::id)
            .select(TokenRow::as_select())
            .load::<TokenRow>(self.connection)?;
        rows.into_iter()
            .map(|row| record((row, provider.ukprn.clone(), provider.name.clone()), today))
            .collect()
    }
}

/// Converts a row of `tokens`, with the UKPRN and the name of its provider. `Err` if only one of
/// the columns of a revocation has a value.
fn record(
    (row, provider_ukprn, provider_name): (TokenRow, String, String),
    today: NaiveDate,
) -> Result<TokenRecord, StorageError> {
    let revocation = match (row.revoked_at, row.revoked_by) {
        (Some(at), Some(by)) => Some(Revocation {
            at: at.and_utc(),
            by,
        }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(StorageError::CorruptRow {
                table: "tokens",
                id: row.id,
            });
        }
    };
    let status = if revocation.is_some() {
        TokenStatus::Revoked
    } else if row.expires_on <= today {
        TokenStatus::Expired
    } else {
        TokenStatus::Active
    };
    Ok(TokenRecord {
        id: row.id,
        provider_ukprn,
        provider_name,
        name: row.name,
        created_by: row.created_by,
        created_at: row.created_at.and_utc(),
        expires_on: row.expires_on,
        last_used_on: row.last_used_on,
        revocation,
        status,
        provider_id: row.provider_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NEW_TOKEN, Register};

    #[test]
    fn replaced_token_is_accepted_during_overlap() {
        let register = Register::with_provider();
        let (first, record) = register.issue_token(NEW_TOKEN).unwrap();
        let rotation = |days| Rotation {
            environment: Environment::Sandbox,
            created_by: Actor::operator("an operator"),
            expires_on: None,
            overlap: Days::new(days),
        };
        let rotate =
            |id, days| register.write(move |session| session.rotate_token(id, &rotation(days)));
        for days in [0, u64::MAX] {
            let refused = rotate(record.id, days).unwrap_err();
            assert!(
                matches!(refused, StorageError::Refused(Refusal::OverlapOutOfRange)),
                "{refused:?}"
            );
        }
        let Rotated {
            token: second,
            new,
            old,
        } = rotate(record.id, 7).unwrap();
        assert!(register.accepts(&first) && register.accepts(&second));
        assert_eq!(
            (new.name, new.created_by),
            (record.name, "an operator".to_owned())
        );
        assert_eq!(new.expires_on, record.expires_on);
        assert_eq!(old.expires_on, "2026-03-09".parse().unwrap());
        let Rotated { old, .. } = rotate(record.id, 30).unwrap();
        assert_eq!(old.expires_on, "2026-03-09".parse().unwrap());

        register
            .write(move |session| session.revoke_token(record.id, Actor::operator("operator")))
            .unwrap();
        assert!(!register.accepts(&first) && register.accepts(&second));
        let refused = rotate(record.id, 7).unwrap_err();
        assert!(
            matches!(
                refused,
                StorageError::Refused(Refusal::TokenEnded(TokenStatus::Revoked))
            ),
            "{refused:?}"
        );
        let refused = rotate(99, 7).unwrap_err();
        assert!(
            matches!(refused, StorageError::Refused(Refusal::UnknownToken)),
            "{refused:?}"
        );
    }

    #[test]
    fn database_files_contain_no_token() {
        let register = Register::on_sqlite();
        register.add_provider();
        let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
        let path = register.url().replace("sqlite://", "");
        for file in [path.clone(), format!("{path}-wal")] {
            let bytes = std::fs::read(file).unwrap();
            assert!(
                !bytes
                    .windows(64)
                    .any(|window| window == &token.reveal().as_bytes()[8..])
            );
        }
    }

    #[test]
    fn token_expires_within_six_months() {
        let register = Register::with_provider();
        for (date, accepted) in [
            ("2026-03-02", false),
            ("2026-03-03", true),
            ("2026-09-02", true),
            ("2026-09-03", false),
        ] {
            let expires_on = Some(date.parse().unwrap());
            let answer = register.issue_token(NewToken {
                expires_on,
                ..NEW_TOKEN
            });
            match answer {
                Ok(_) => assert!(accepted, "{date}"),
                Err(error) => {
                    assert!(!accepted, "{date}");
                    assert!(matches!(
                        error,
                        StorageError::Refused(Refusal::ExpiryOutOfRange)
                    ));
                }
            }
        }
    }

    #[test]
    fn token_needs_name_and_known_provider() {
        let register = Register::with_provider();
        let long: &'static str = String::leak("é".repeat(201));
        for name in ["", "  ", long, "a\0b", "a\nb", "\u{1b}[2J"] {
            let refused = register
                .issue_token(NewToken { name, ..NEW_TOKEN })
                .unwrap_err();
            assert!(matches!(
                refused,
                StorageError::Refused(Refusal::InvalidTokenName)
            ));
        }
        let refused = register
            .issue_token(NewToken {
                provider_ukprn: "10000002",
                ..NEW_TOKEN
            })
            .unwrap_err();
        assert!(matches!(
            refused,
            StorageError::Refused(Refusal::UnknownProvider)
        ));
    }
}
