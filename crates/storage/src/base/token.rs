//! The tokens of providers: how they are made and digested, for which environment they are, and
//! their status.
//!
//! Only the digest of a token is ever stored. A token has 256 random bits, so the digest needs no
//! salt.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// Random bytes in a token.
const SECRET_BYTES: usize = 32;

/// No environment has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("environment must be sandbox or production")]
pub struct UnknownEnvironment;

/// The kind of installation for which a token was made. It is the first word of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// For trying the API out, with invented records.
    Sandbox,
    /// For real records.
    Production,
}

impl Environment {
    /// The environment that a token's text names, whether or not the token exists; nothing for a
    /// text that does not have the form of a [`Token`].
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
    /// Makes a token.
    ///
    /// # Errors
    ///
    /// When the operating system gives no random bytes.
    pub fn generate(environment: Environment) -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self(format!("{environment}_{}", HEXLOWER.encode(&secret))))
    }

    /// The token itself, to be shown once to the person for whom it was made.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(hidden)")
    }
}

/// What the register keeps of a token: the SHA-256 of its whole text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TokenDigest(String);

impl TokenDigest {
    /// The digest of a token's text, as it stands in the `Authorization` header.
    pub fn from_text(text: &str) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(text.as_bytes())))
    }

    pub(crate) fn as_hex(&self) -> &str {
        &self.0
    }

    /// Whether this digest is the stored one. Takes the same time wherever two digests differ.
    pub(crate) fn is_stored_as(&self, stored: &str) -> bool {
        self.0.as_bytes().ct_eq(stored.as_bytes()).into()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TokenDigest(hidden)")
    }
}

/// What became of a token. Only an active one is accepted, and no other becomes active again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStatus {
    /// Accepted.
    Active,
    /// Its last day has passed.
    Expired,
    /// An operator ended it.
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
    fn a_token_is_its_environment_and_64_hexadecimal_digits() {
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
    fn a_token_and_its_digest_are_not_shown_by_accident() {
        let token = Token::generate(Environment::Production).unwrap();
        let digest = TokenDigest::from_text(token.reveal());
        assert_eq!(
            format!("{token:?} {digest:?}"),
            "Token(hidden) TokenDigest(hidden)"
        );
    }

    #[test]
    fn the_digest_is_the_sha_256_of_the_whole_text() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenDigest::from_text("abc").as_hex(), expected);
    }

    #[test]
    fn a_digest_differs_from_every_other_one() {
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
    fn a_token_text_names_its_environment() {
        let secret = "0123456789abcdef".repeat(4);
        assert_eq!(
            Environment::from_token(&format!("sandbox_{secret}")),
            Some(Environment::Sandbox)
        );
        assert_eq!(
            Environment::from_token(&format!("production_{secret}")),
            Some(Environment::Production)
        );
        let (short, upper) = (&secret[1..], secret.to_uppercase());
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
