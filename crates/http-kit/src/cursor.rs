//! Cursors: positions in a list or in the changes, as text that is opaque to the client.
//!
//! A cursor is encrypted and authenticated with the key of the register. It opens only for its
//! provider, version and query. A cursor of another query, a forged one and a damaged one give the
//! same error.

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest cursor, in characters: also one of release 0.1.0, which listed running writes.
pub const MAX_CHARS: usize = 8_192;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Seals and opens cursors. Cheap to clone; all clones have the same key.
#[derive(Clone)]
pub struct CursorKey(Option<Arc<LessSafeKey>>);

/// Error of sealing a cursor.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The operating system gives no random bytes.
    #[error("cursor cannot be sealed")]
    NoRandomness,
    /// The position cannot be written as JSON.
    #[error("reply cannot be written")]
    Unwritable(#[source] serde_json::Error),
}

/// Error of opening a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The cursor was not sealed with this key for this scope.
    #[error("cursor is damaged or of another list")]
    Unknown,
    /// The cursor has the form of another release of the program.
    #[error("cursor is of another release")]
    OtherRelease,
}

/// What a cursor is for. A cursor is sealed for a scope, and opens only there.
#[derive(Debug, Clone, Copy)]
pub struct CursorScope<'a> {
    /// The UKPRN of the provider.
    pub ukprn: &'a str,
    /// The label of the version.
    pub version: &'a str,
    /// The list that the client pages through, with all filters.
    pub query: &'a str,
}

impl CursorScope<'_> {
    /// The scope as additional authenticated data (AAD): opening fails with any other.
    fn aad(self) -> Aad<Vec<u8>> {
        // UKPRNs and labels have no line break, so two scopes never give the same text.
        let text = [self.ukprn, self.version, self.query].join("\n");
        Aad::from(text.into_bytes())
    }
}

impl CursorKey {
    /// The key of a register.
    #[must_use]
    pub fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes);
        Self(key.ok().map(|key| Arc::new(LessSafeKey::new(key))))
    }

    /// A random key, known to this process only. Without random bytes from the operating system the
    /// key can seal nothing.
    #[must_use]
    pub fn generate() -> Self {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_or(Self(None), |()| Self::new(&bytes))
    }

    /// A cursor: the position from where a client continues, sealed for a scope.
    ///
    /// # Errors
    ///
    /// [`SealError::NoRandomness`] when the operating system gives no random bytes, and
    /// [`SealError::Unwritable`] when the position cannot be written as JSON.
    pub fn seal(
        &self,
        scope: CursorScope<'_>,
        position: &impl Serialize,
    ) -> Result<String, SealError> {
        let mut sealed = serde_json::to_vec(position).map_err(SealError::Unwritable)?;
        let mut nonce = [0; NONCE_LEN];
        let key = self.0.as_ref().ok_or(SealError::NoRandomness)?;
        let tag = SystemRandom::new().fill(&mut nonce).and_then(|()| {
            key.seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                scope.aad(),
                &mut sealed,
            )
        });
        let tag = tag.map_err(|_| SealError::NoRandomness)?;
        Ok(BASE64URL_NOPAD.encode(&[&nonce, sealed.as_slice(), tag.as_ref()].concat()))
    }

    /// The position in a cursor.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub fn open<T: DeserializeOwned>(
        &self,
        scope: CursorScope<'_>,
        cursor: &str,
    ) -> Result<T, OpenError> {
        let position = self.decrypt(scope, cursor).ok_or(OpenError::Unknown)?;
        serde_json::from_slice(&position).map_err(|_| OpenError::OtherRelease)
    }

    /// The content of a cursor; `None` when the cursor was not sealed with this key for this scope.
    fn decrypt(&self, scope: CursorScope<'_>, cursor: &str) -> Option<Vec<u8>> {
        if cursor.len() > MAX_CHARS {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let position = self
            .0
            .as_ref()?
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                scope.aad(),
                &mut sealed,
            )
            .ok()?;
        Some(position.to_vec())
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CursorKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: CursorScope<'static> = CursorScope {
        ukprn: "10000001",
        version: "v1999.1",
        query: "list 2026",
    };

    #[test]
    fn a_cursor_opens_for_what_it_was_sealed_for() {
        let key = CursorKey::new(&[7; KEY_BYTES]);
        let (one, other) = (
            key.seal(SCOPE, &(1, "a")).unwrap(),
            key.seal(SCOPE, &(1, "a")).unwrap(),
        );
        assert_ne!(
            one, other,
            "two cursors for one place can be told to be the same"
        );
        assert_eq!(
            key.open::<(i32, String)>(SCOPE, &one),
            Ok((1, "a".to_owned()))
        );
        let others = [
            CursorScope {
                ukprn: "10000002",
                ..SCOPE
            },
            CursorScope {
                version: "v1999.0",
                ..SCOPE
            },
            CursorScope {
                query: "list 2025",
                ..SCOPE
            },
        ];
        assert!(
            others
                .into_iter()
                .all(|scope| key.open::<(i32, String)>(scope, &one) == Err(OpenError::Unknown))
        );
        assert_eq!(
            CursorKey::generate().open::<(i32, String)>(SCOPE, &one),
            Err(OpenError::Unknown)
        );
    }

    #[test]
    fn a_cursor_of_another_form_is_of_another_release() {
        let key = CursorKey::new(&[7; KEY_BYTES]);
        let cursor = key.seal(SCOPE, &(1, "a")).unwrap();
        let opened = key.open::<(i32, i32)>(SCOPE, &cursor);
        assert_eq!(opened, Err(OpenError::OtherRelease));
    }

    #[test]
    fn a_damaged_cursor_does_not_open() {
        let key = CursorKey::new(&[7; KEY_BYTES]);
        let cursor = key.seal(SCOPE, &(1, "a")).unwrap();
        for at in 0..cursor.len() {
            let flipped = if cursor.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            let damaged = format!("{}{flipped}{}", &cursor[..at], &cursor[at + 1..]);
            assert_eq!(
                key.open::<(i32, String)>(SCOPE, &damaged),
                Err(OpenError::Unknown),
                "{at}"
            );
            assert_eq!(
                key.open::<(i32, String)>(SCOPE, &cursor[..at]),
                Err(OpenError::Unknown),
                "{at}"
            );
        }
        assert_eq!(
            key.open::<(i32, String)>(SCOPE, &"A".repeat(MAX_CHARS + 1)),
            Err(OpenError::Unknown)
        );
    }
}
