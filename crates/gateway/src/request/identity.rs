//! The sender of a request, and how a job opens the records for this sender.

use storage::accounts::uploads::Uploader;
use storage::accounts::users::{SecretDigest, SignedIn};
use storage::base::sender::Sender;
use storage::base::token::TokenDigest;
use storage::session::Session;

use crate::error::ApiError;

/// The sender of a request. Each job authenticates the sender again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A client with a token.
    Token(TokenDigest),
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

    /// The provider and the sender, for the record of requests.
    #[must_use]
    pub const fn recorded(&self) -> (i64, Sender) {
        let user = Sender::User(self.uploader.user_id());
        (self.uploader.provider_id(), user)
    }
}
