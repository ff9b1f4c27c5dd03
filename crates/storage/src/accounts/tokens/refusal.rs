//! Reasons for refusing a token. Operators see them; clients do not.

use diesel::prelude::*;

use crate::base::token::TokenDigest;
use crate::error::StorageError;
use crate::schema::tokens;
use crate::session::Session;

/// Reason for refusing a token in [`Session::authenticate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// No token has this text.
    Unknown,
    /// The token was revoked.
    Revoked,
    /// The token has expired.
    Expired,
    /// The provider of the token is closed.
    ProviderClosed,
}

impl Session<'_> {
    /// The reason why [`Session::authenticate`] refused a token. Call this only for a refused
    /// token.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn refusal_of(&mut self, digest: &TokenDigest) -> Result<TokenRefusal, StorageError> {
        let today = self.today();
        let found = tokens::table
            .filter(tokens::digest.eq(digest.as_hex()))
            .select((
                tokens::revoked_at.is_not_null(),
                tokens::expires_on.le(today),
            ))
            .first::<(bool, bool)>(self.connection)
            .optional()?;
        let Some((is_revoked, is_expired)) = found else {
            return Ok(TokenRefusal::Unknown);
        };
        Ok(if is_revoked {
            TokenRefusal::Revoked
        } else if is_expired {
            TokenRefusal::Expired
        } else {
            // No other reason is left.
            TokenRefusal::ProviderClosed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::users::Actor;
    use crate::base::token::{Environment, Token};
    use crate::testing::{NEW_TOKEN, Register, UKPRN};

    fn refusal(register: &Register, token: &Token) -> TokenRefusal {
        assert!(!register.accepts(token));
        let digest = TokenDigest::from_text(token.reveal());
        register
            .read(|session| session.refusal_of(&digest))
            .unwrap()
    }

    #[test]
    fn token_is_refused_for_one_reason() {
        let register = Register::with_provider();
        let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
        let (other, record) = register.issue_token(NEW_TOKEN).unwrap();
        let unknown = Token::generate(Environment::Sandbox).unwrap();
        assert_eq!(refusal(&register, &unknown), TokenRefusal::Unknown);
        register
            .write(move |session| session.revoke_token(record.id, Actor::operator("operator")))
            .unwrap();
        assert_eq!(refusal(&register, &other), TokenRefusal::Revoked);
        register
            .write(|session| session.close_provider(UKPRN))
            .unwrap();
        assert_eq!(refusal(&register, &token), TokenRefusal::ProviderClosed);
        register.clock.set("2026-09-02");
        assert_eq!(refusal(&register, &token), TokenRefusal::Expired);
        assert_eq!(refusal(&register, &other), TokenRefusal::Revoked);
    }
}
