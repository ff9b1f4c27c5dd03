//! The key of a request that a client may send again.
//!
//! A client may make a key from the name of a person. So only a digest of a key is stored, made
//! with the secret of the register: the key stays used after the person was erased, and the digest
//! does not reveal the name to a client that guesses keys.

use std::fmt;

use actix_web::HttpRequest;
use actix_web::http::Method;
use adapter_kit::read::is_idempotency_key;
use data_encoding::HEXLOWER;
use http_kit::cursor::KEY_BYTES;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

/// The header with the key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What a digest of an idempotency key begins with, so that the secret makes the same digest for
/// nothing else.
const KEY_PURPOSE: &[u8] = b"idempotency key:";

/// Makes the digests of idempotency keys. Cheap to clone; all clones make the same.
#[derive(Clone)]
pub struct KeyDigests(hmac::Key);

impl KeyDigests {
    /// The digests of a register with this secret.
    #[must_use]
    pub fn new(secret: &[u8; KEY_BYTES]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The digests of this process alone.
    #[must_use]
    pub fn with_random_secret() -> Self {
        let mut secret = [0; KEY_BYTES];
        // Without random bytes the server cannot make identifiers or cursors either.
        let _ = SystemRandom::new().fill(&mut secret);
        Self::new(&secret)
    }

    fn digest(&self, key: &str) -> String {
        HEXLOWER.encode(hmac::sign(&self.0, &[KEY_PURPOSE, key.as_bytes()].concat()).as_ref())
    }
}

impl fmt::Debug for KeyDigests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyDigests")
    }
}

/// The digest of a request's key, with what distinguishes the request from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The digest of the key, with the secret of the register.
    pub key_digest: String,
    /// The digest of the request that came with it.
    pub request_digest: String,
}

/// What was sent as a key is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("idempotency key is malformed")]
pub struct MalformedKey;

impl Key {
    /// The key that came with a request and its body; nothing when none was sent.
    ///
    /// # Errors
    ///
    /// [`MalformedKey`]
    pub fn from_request(
        request: &HttpRequest,
        body: &[u8],
        digests: &KeyDigests,
    ) -> Result<Option<Self>, MalformedKey> {
        let mut sent = request.headers().get_all(IDEMPOTENCY_KEY);
        let Some(key) = sent.next() else {
            return Ok(None);
        };
        let key = key.to_str().map_err(|_| MalformedKey)?.trim();
        if !is_idempotency_key(key) || sent.next().is_some() {
            return Err(MalformedKey);
        }
        Ok(Some(Self::new(
            key,
            request.method(),
            request.uri().path(),
            body,
            digests,
        )))
    }

    /// A key with the request that it came with.
    #[must_use]
    pub fn new(key: &str, method: &Method, path: &str, body: &[u8], digests: &KeyDigests) -> Self {
        let mut digest = Sha256::new();
        for part in [method.as_str().as_bytes(), path.as_bytes(), body] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        Self {
            key_digest: digests.digest(key),
            request_digest: HEXLOWER.encode(&digest.finalize()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_digest_depends_on_the_secret_and_hides_the_key() {
        let (one, other) = (
            KeyDigests::new(&[1; KEY_BYTES]),
            KeyDigests::new(&[2; KEY_BYTES]),
        );
        assert_eq!(one.digest("okafor-1"), one.clone().digest("okafor-1"));
        for different in [
            one.digest("okafor-2"),
            other.digest("okafor-1"),
            KeyDigests::with_random_secret().digest("okafor-1"),
        ] {
            assert_ne!(different, one.digest("okafor-1"));
        }
        assert!(!one.digest("okafor-1").contains("okafor"));
        assert!(is_idempotency_key(&one.digest("okafor-1")));
    }
}
