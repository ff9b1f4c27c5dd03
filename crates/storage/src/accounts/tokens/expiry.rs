//! Finds tokens that expire soon. Warnings to clients and the pages of operators share this
//! definition.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use diesel::prelude::*;

use super::TokenRecord;
use crate::base::token::TokenStatus;
use crate::error::StorageError;
use crate::schema::providers;
use crate::session::{Session, ValidToken};

/// A token with less than this number of days left expires soon.
pub const EXPIRES_SOON_DAYS: u32 = 30;

/// The latest day of expiry of tokens with less than `days` days left. A token is refused from the
/// start of its day of expiry.
fn last_day_within(now: DateTime<Utc>, days: u32) -> NaiveDate {
    // The last millisecond that is less than `days` days away. A token whose day of expiry begins
    // later has at least `days` days left.
    let reached = TimeDelta::try_days(days.into())
        .and_then(|time| now.checked_add_signed(time))
        .and_then(|end| end.checked_sub_signed(TimeDelta::milliseconds(1)));
    reached.map_or(NaiveDate::MAX, |end| end.date_naive())
}

impl ValidToken {
    /// Whether the token has not expired and has less than [`EXPIRES_SOON_DAYS`] left.
    #[must_use]
    pub fn expires_soon(&self, now: DateTime<Utc>) -> bool {
        self.expires_on > now.date_naive()
            && self.expires_on <= last_day_within(now, EXPIRES_SOON_DAYS)
    }
}

impl TokenRecord {
    /// Whether the token is active and has less than `days` days left. Ignores whether its provider
    /// is closed.
    #[must_use]
    pub fn expires_within(&self, days: u32, now: DateTime<Utc>) -> bool {
        self.status == TokenStatus::Active && self.expires_on <= last_day_within(now, days)
    }
}

impl Session<'_> {
    /// The accepted tokens of a provider, or of all providers, with less than `days` days left,
    /// oldest first.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`](crate::error::Refusal::UnknownProvider).
    pub fn list_expiring_tokens(
        &mut self,
        provider_ukprn: Option<&str>,
        days: u32,
    ) -> Result<Vec<TokenRecord>, StorageError> {
        let now = self.now();
        let mut tokens = self.list_tokens(provider_ukprn)?;
        tokens.retain(|token| token.expires_within(days, now));
        let closed: Vec<String> = providers::table
            .filter(providers::closed_at.is_not_null())
            .select(providers::ukprn)
            .load(self.connection)?;
        tokens.retain(|token| !closed.contains(&token.provider_ukprn));
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::tokens::NewToken;
    use crate::accounts::users::Actor;
    use crate::testing::{NEW_TOKEN, OTHER, Register};

    #[test]
    fn token_expires_soon_within_thirty_days() {
        let token = ValidToken {
            id: 1,
            provider_id: 1,
            expires_on: "2026-03-31".parse().unwrap(),
        };
        for (now, expires_soon) in [
            ("2026-02-28T12:00:00Z", false),
            ("2026-03-01T00:00:00Z", false),
            ("2026-03-01T00:00:00.001Z", true),
            ("2026-03-30T23:59:59.999Z", true),
            ("2026-03-31T00:00:00Z", false),
        ] {
            assert_eq!(
                token.expires_soon(now.parse().unwrap()),
                expires_soon,
                "{now}"
            );
        }
    }

    #[test]
    fn last_day_within_any_days_exists() {
        assert_eq!(
            last_day_within(DateTime::UNIX_EPOCH, u32::MAX),
            NaiveDate::MAX
        );
        assert_eq!(
            last_day_within(DateTime::UNIX_EPOCH, 0),
            "1969-12-31".parse().unwrap()
        );
    }

    #[test]
    fn expiring_tokens_are_accepted_and_near_expiry() {
        let register = Register::with_two_providers();
        let issue = |provider_ukprn, date: &str| {
            let expires_on = Some(date.parse().unwrap());
            register
                .issue_token(NewToken {
                    provider_ukprn,
                    expires_on,
                    ..NEW_TOKEN
                })
                .unwrap()
                .1
                .id
        };
        let [soon, later] =
            ["2026-04-01", "2026-04-02"].map(|date| issue(NEW_TOKEN.provider_ukprn, date));
        let revoked = issue(NEW_TOKEN.provider_ukprn, "2026-03-09");
        let expired = issue(NEW_TOKEN.provider_ukprn, "2026-03-03");
        let other = issue(OTHER, "2026-03-20");
        register
            .write(move |session| session.revoke_token(revoked, Actor::operator("operator")))
            .unwrap();
        let expiring = |provider: Option<&'static str>, days| {
            let listed = register
                .read(|session| session.list_expiring_tokens(provider, days))
                .unwrap();
            listed.into_iter().map(|token| token.id).collect::<Vec<_>>()
        };
        assert_eq!(expiring(None, 1), [expired]);
        register.clock.set("2026-03-03");
        assert_eq!(expiring(None, 30), [soon, later, other]);
        assert_eq!(expiring(None, 29), [soon, other]);
        assert_eq!(expiring(Some(OTHER), 30), [other]);
        register
            .write(|session| session.close_provider(OTHER))
            .unwrap();
        assert_eq!(expiring(None, 30), [soon, later]);
        assert!(expiring(None, 0).is_empty());
    }
}
