//! The sender of a request, and how a job opens the records for this sender.

use storage::accounts::uploads::Uploader;
use storage::accounts::users::{SecretDigest, SignedIn};
use storage::base::sender::Sender;
use storage::base::token::TokenDigest;
use storage::session::{Session, ValidToken};

use crate::error::ApiError;

/// The sender of a request. Each job authenticates the sender again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A client with a token that was admitted.
    Token {
        /// The digest of the token.
        digest: TokenDigest,
        /// The token when it was admitted.
        admitted: ValidToken,
    },
    /// A signed-in user, whose request is a row of an uploaded file.
    User(UserIdentity),
}

/// A user who uploads, with the session that signed them in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIdentity {
    /// The session.
    pub session: SecretDigest,
    /// The user with their organisation.
    pub uploader: Uploader,
}

impl Identity {
    /// The token when it was admitted; `None` for a user.
    #[must_use]
    pub const fn token(&self) -> Option<ValidToken> {
        match self {
            Self::Token { admitted, .. } => Some(*admitted),
            Self::User(_) => None,
        }
    }

    /// The provider whose records the sender may change, and the sender, for the record of requests.
    #[must_use]
    pub const fn recorded(&self) -> (i64, Sender) {
        match self {
            Self::Token { admitted, .. } => (admitted.provider_id, Sender::Token(admitted.id)),
            Self::User(user) => (
                user.uploader.provider_id(),
                Sender::User(user.uploader.user_id()),
            ),
        }
    }
}

impl UserIdentity {
    /// Reads the session. Its user may open the records with [`Session::open_to_upload`].
    ///
    /// # Errors
    ///
    /// [`ApiError::SignedOut`] unless the session is valid and of this user, who may still upload.
    pub fn authenticate(&self, session: &mut Session<'_>) -> Result<SignedIn, ApiError> {
        let signed_in = session.signed_in(&self.session)?;
        signed_in
            .filter(|signed_in| signed_in.uploader() == Ok(self.uploader))
            .ok_or(ApiError::SignedOut)
    }
}
