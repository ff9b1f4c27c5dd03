//! The sender of a request, and how a job opens the records for this sender.

use domain::fields::vocabulary::{FROM_API, FROM_FILE};
use storage::accounts::uploads::{UploadSender, Uploader};
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

/// A user whose upload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserIdentity {
    /// The number of the upload.
    pub upload_id: i64,
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

    /// The `record_source` of the trainees that the sender registers.
    #[must_use]
    pub const fn record_source(&self) -> &'static str {
        match self {
            Self::Token { .. } => FROM_API,
            Self::User(_) => FROM_FILE,
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
    /// Reads the user, who may open the records with [`Session::open_to_upload`].
    ///
    /// # Errors
    ///
    /// [`ApiError::UploadStopped`] unless the upload runs, and its user may still upload.
    pub fn authenticate(&self, session: &mut Session<'_>) -> Result<UploadSender, ApiError> {
        let sender = session.upload_sender(self.uploader, self.upload_id)?;
        sender.ok_or(ApiError::UploadStopped)
    }
}
