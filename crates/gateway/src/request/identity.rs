//! Who a request is from, and how a job opens the records for it.

use storage::accounts::users::{SecretDigest, SignedIn};
use storage::base::sender::Sender;
use storage::base::token::TokenDigest;

/// Who a request is from. Each job authenticates the identity again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A client with a token.
    Token(TokenDigest),
    /// A signed-in user, whose request is a row of an uploaded file.
    User(UserIdentity),
}

/// A user of an organisation with the session that signed them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIdentity {
    /// The session.
    pub session: SecretDigest,
    /// The number of the user.
    pub user_id: i64,
    /// The number of the user's organisation.
    pub provider_id: i64,
}

impl UserIdentity {
    /// Whether the session is one of this user.
    #[must_use]
    pub fn is_of(&self, signed_in: &SignedIn) -> bool {
        signed_in.user_id == self.user_id
    }

    /// The provider and the sender for the request log.
    #[must_use]
    pub const fn logged(&self) -> (i64, Sender) {
        (self.provider_id, Sender::User(self.user_id))
    }
}
