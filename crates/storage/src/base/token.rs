//! The tokens of providers: generation, digests, environments and statuses.
//!
//! The register stores only the digest of a token. A token has 256 random bits, so the digest needs
//! no salt.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// Random bytes in a token.
const SECRET_BYTES: usize = 32;

/// No environment has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("environment must be sandbox or production")]
pub struct UnknownEnvironment;

/// The kind of installation that accepts a token. The name of the environment is the first word of
/// the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// For tests of the API, with invented records.
    Sandbox,
    /// For real records.
    Production,
}

impl Environment {
    /// The environment that a token's text names, whether or not the token exists; `None` when the
    /// text does not have the form of a [`Token`].
    pub fn from_token(text: &str) -> Option<Self> {
        let (name, secret) = text.split_once('_')?;
        let is_hex = secret
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if is_hex && secret.len() == 2 * SECRET_BYTES {
            name.parse().ok()
        } else {
            None
        }
    }
}

impl FromStr for Environment {
    type Err = UnknownEnvironment;

    fn from_str(name: &str) -> Result<Self, UnknownEnvironment> {
        match name {
            "sandbox" => Ok(Self::Sandbox),
            "production" => Ok(Self::Production),
            _ => Err(UnknownEnvironment),
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sandbox => "sandbox",
            Self::Production => "production",
        })
    }
}

/// A new token: the environment, an underscore, and 64 lower-case hexadecimal digits.
pub struct Token(String);

impl Token {
    /// Generates a random token.
    ///
    /// # Errors
    ///
    /// When the operating system provides no random bytes.
    pub fn generate(environment: Environment) -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self(format!("{environment}_{}", HEXLOWER.encode(&secret))))
    }

    /// The text of the token. Show it to its owner once and do not store or log it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(hidden)")
    }
}

/// The SHA-256 of a token's whole text. The register stores it instead of the token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TokenDigest(String);

impl TokenDigest {
    /// The digest of a token's text, as sent in the `Authorization` header.
    pub fn from_text(text: &str) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(text.as_bytes())))
    }

    pub(crate) fn as_hex(&self) -> &str {
        &self.0
    }

    /// Whether this digest equals the stored one. Compares in constant time.
    pub(crate) fn is_stored_as(&self, stored: &str) -> bool {
        self.0.as_bytes().ct_eq(stored.as_bytes()).into()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest(hidden)")
    }
}

/// The status of a token. The API accepts only active tokens. An expired or revoked token never
/// becomes active again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStatus {
    /// Accepted.
    Active,
    /// Its last day has passed.
    Expired,
    /// Revoked by a user or an operator.
    Revoked,
}

impl fmt::Display for TokenStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_environment_and_64_hexadecimal_digits() {
        let token = Token::generate(Environment::Sandbox).unwrap();
        let digits = token.reveal().strip_prefix("sandbox_").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(
            digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        );
        assert_ne!(
            token.reveal(),
            Token::generate(Environment::Sandbox).unwrap().reveal()
        );
    }

    #[test]
    fn debug_output_hides_token_and_digest() {
        let token = Token::generate(Environment::Production).unwrap();
        let digest = TokenDigest::from_text(token.reveal());
        assert_eq!(
            format!("{token:?} {digest:?}"),
            "Token(hidden) TokenDigest(hidden)"
        );
    }

    #[test]
    fn digest_is_sha_256_of_whole_text() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenDigest::from_text("abc").as_hex(), expected);
    }

    #[test]
    fn digest_differs_from_every_other_digest() {
        let digest = TokenDigest::from_text("abc");
        assert!(digest.is_stored_as(digest.as_hex()));
        for other in [
            "",
            &digest.as_hex()[..63],
            &digest.as_hex().to_uppercase(),
            TokenDigest::from_text("abd").as_hex(),
        ] {
            assert!(!digest.is_stored_as(other), "{other}");
        }
    }

    #[test]
    fn token_text_names_its_environment() {
        let secret = "0123456789abcdef".repeat(4);
        assert_eq!(
            Environment::from_token(&format!("sandbox_{secret}")),
            Some(Environment::Sandbox)
        );
        assert_eq!(
            Environment::from_token(&format!("production_{secret}")),
            Some(Environment::Production)
        );
        let short = &secret[1..];
        let upper = secret.to_uppercase();
        for other in [
            "sandbox".to_owned(),
            "sandbox_".to_owned(),
            format!("staging_{secret}"),
            format!("sandbox_{short}"),
            format!("sandbox_{secret}0"),
            format!("sandbox_{upper}"),
            format!("sandbox_{short}g"),
            format!("sandbox_{short} "),
        ] {
            assert_eq!(Environment::from_token(&other), None, "{other}");
        }
    }
}
