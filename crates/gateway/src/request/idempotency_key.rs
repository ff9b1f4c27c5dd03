//! The idempotency key of a request that a client may send again.
//!
//! A key may contain the name of a person. So the register stores only a digest of the key, made
//! with a secret. After the person is erased, the key still counts as used, and guessing keys does
//! not reveal the name.

use std::fmt;

use actix_web::HttpRequest;
use actix_web::http::Method;
use adapter_kit::read::is_idempotency_key;
use data_encoding::HEXLOWER;
use http_kit::cursor::KEY_BYTES;
use ring::digest::{Context, SHA256};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

/// The header with the key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A prefix of each key before it is hashed, so that the same secret makes different digests for
/// other purposes.
const KEY_PURPOSE: &[u8] = b"idempotency key:";

/// Makes the digests of idempotency keys. Cheap to clone; all clones make the same digests.
#[derive(Clone)]
pub struct KeyDigests(hmac::Key);

impl KeyDigests {
    /// The digests of a register with this secret.
    #[must_use]
    pub fn new(secret: &[u8; KEY_BYTES]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Digests with a random secret, which only this process has.
    #[must_use]
    pub fn with_random_secret() -> Self {
        let mut secret = [0; KEY_BYTES];
        // A failure is ignored: without random bytes the server cannot create records either.
        let _ = SystemRandom::new().fill(&mut secret);
        Self::new(&secret)
    }

    /// The digest of a key, in hexadecimal digits.
    fn digest(&self, key: &str) -> String {
        HEXLOWER.encode(hmac::sign(&self.0, &[KEY_PURPOSE, key.as_bytes()].concat()).as_ref())
    }
}

impl fmt::Debug for KeyDigests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyDigests")
    }
}

/// The digest of an idempotency key, and the digest of the request that it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The digest of the key, with the secret of the register.
    pub key_digest: String,
    /// The digest of the method, path and body of the request.
    pub request_digest: String,
}

/// The error of a malformed idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("idempotency key is malformed")]
pub struct MalformedKey;

impl Key {
    /// The key in the header of a request with this body; `None` without the header.
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

    /// The digests of a key and of the request that it was sent with.
    #[must_use]
    pub fn new(key: &str, method: &Method, path: &str, body: &[u8], digests: &KeyDigests) -> Self {
        let mut digest = Context::new(&SHA256);
        for part in [method.as_str().as_bytes(), path.as_bytes(), body] {
            // With the length, the same bytes divided otherwise have another digest.
            digest.update(&part.len().to_be_bytes());
            digest.update(part);
        }
        Self {
            key_digest: digests.digest(key),
            request_digest: HEXLOWER.encode(digest.finish().as_ref()),
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
