//! The secrets of links and of session cookies: 256 random bits. Only their digest is stored.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;

use crate::base::token::TokenDigest;
use crate::error::StorageError;

/// The number of random bytes in a secret.
const SECRET_BYTES: usize = 32;

/// A new secret, as text for an address or a cookie: 43 characters of base64url (RFC 4648, section
/// 5).
pub struct Secret(String);

impl Secret {
    /// A new random secret.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoRandomness`]
    pub fn generate() -> Result<Self, StorageError> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(StorageError::NoRandomness)?;
        Ok(Self::from_bytes(&secret))
    }

    /// The secret of these bytes, which must be unpredictable.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; SECRET_BYTES]) -> Self {
        Self(BASE64URL_NOPAD.encode(bytes))
    }

    /// The text of the secret. Show it once, only to its user.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(hidden)")
    }
}

/// The stored form of a secret: the SHA-256 of its text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretDigest(TokenDigest);

impl SecretDigest {
    /// The digest of a secret's text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(TokenDigest::from_text(text))
    }

    pub(super) fn as_hex(&self) -> &str {
        self.0.as_hex()
    }

    /// Whether this digest equals the stored one. Compares in constant time.
    pub(super) fn is_stored_as(&self, stored: &str) -> bool {
        self.0.is_stored_as(stored)
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretDigest(hidden)")
    }
}
