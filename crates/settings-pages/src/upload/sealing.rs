//! Seals the content of uploads with the key in the browser's cookie.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

/// The context of the key that seals.
const SEALING: &[u8] = b"content of an upload";
/// The context of the key of digests.
const DIGEST: &[u8] = b"digest of an upload";

/// Content cannot be sealed, because the operating system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("content of an upload cannot be sealed")]
pub(crate) struct SealError;

/// The key of the uploads of a browser.
pub(crate) struct UploadKey {
    cookie: String,
    sealing: Option<LessSafeKey>,
    digest: hmac::Key,
}

impl UploadKey {
    /// The key in the text of a cookie.
    pub(crate) fn new(cookie: &str) -> Self {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, cookie.as_bytes());
        let sealing = UnboundKey::new(&AES_256_GCM, hmac::sign(&secret, SEALING).as_ref());
        let digest = hmac::sign(&secret, DIGEST);
        Self {
            cookie: cookie.to_owned(),
            sealing: sealing.ok().map(LessSafeKey::new),
            digest: hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref()),
        }
    }

    /// The text of the cookie. Give it to the browser only.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The keyed digest of a file, in hex.
    pub(crate) fn file_digest(&self, file: &[u8]) -> String {
        HEXLOWER.encode(hmac::sign(&self.digest, file).as_ref())
    }

    /// Seals content of an upload. `place` names the content within the upload, such as `part 3`.
    /// Returns Base64.
    ///
    /// # Errors
    ///
    /// [`SealError`].
    pub(crate) fn seal(&self, id: i64, place: &str, content: &[u8]) -> Result<String, SealError> {
        let key = self.sealing.as_ref().ok_or(SealError)?;
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| SealError)?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + content.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(content);
        let (_, body) = sealed.split_at_mut(NONCE_LEN);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = key.seal_in_place_separate_tag(nonce, context(id, place), body);
        sealed.extend_from_slice(tag.map_err(|_| SealError)?.as_ref());
        Ok(BASE64.encode(&sealed))
    }

    /// Opens sealed content. `None` if it was sealed with another key, or for another upload or
    /// place.
    pub(crate) fn open(&self, id: i64, place: &str, sealed: &str) -> Option<Vec<u8>> {
        let mut bytes = BASE64.decode(sealed.as_bytes()).ok()?;
        let (nonce, body) = bytes.split_first_chunk_mut::<NONCE_LEN>()?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let key = self.sealing.as_ref()?;
        let opened = key.open_in_place(nonce, context(id, place), body).ok()?;
        let length = opened.len();
        bytes.drain(..NONCE_LEN);
        bytes.truncate(length);
        Some(bytes)
    }
}

impl fmt::Debug for UploadKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UploadKey(hidden)")
    }
}

/// The authenticated context of sealed content.
fn context(id: i64, place: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("upload {id}, {place}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_content_opens_only_with_its_key_and_place() {
        let key = UploadKey::new("one");
        let sealed = key.seal(3, "part 1", b"Ayo").unwrap();
        assert_eq!(key.open(3, "part 1", &sealed).unwrap(), b"Ayo");
        assert_eq!(key.open(4, "part 1", &sealed), None);
        assert_eq!(key.open(3, "part 2", &sealed), None);
        assert_eq!(UploadKey::new("other").open(3, "part 1", &sealed), None);
        assert_eq!(key.open(3, "part 1", ""), None);
        assert_eq!(key.open(3, "part 1", &sealed[..sealed.len() - 4]), None);
        assert_ne!(key.seal(3, "part 1", b"Ayo").unwrap(), sealed);
    }

    #[test]
    fn file_digest_depends_on_file_and_key() {
        let (key, other) = (UploadKey::new("one"), UploadKey::new("other"));
        let same = UploadKey::new("one").file_digest(b"a");
        assert_eq!(key.file_digest(b"a"), same);
        assert_ne!(key.file_digest(b"b"), same);
        assert_ne!(other.file_digest(b"a"), same);
    }
}
