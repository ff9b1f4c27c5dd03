//! The token of a request, or why it has no valid one. Operators see the exact reason. The client
//! sees only what follows from its own request, and nothing about existing tokens.

use std::fmt;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use storage::accounts::tokens::TokenRefusal;
use storage::base::token::{Environment, TokenDigest};

/// The digest of the token in the `Authorization` header.
///
/// # Errors
///
/// Why the header holds no text with the form of a token of this environment.
pub fn token(
    headers: &HeaderMap,
    environment: Environment,
) -> Result<TokenDigest, AuthenticationError> {
    let mut sent = headers.get_all(AUTHORIZATION);
    let header = sent.next().ok_or(AuthenticationError::Missing)?;
    if sent.next().is_some() {
        return Err(AuthenticationError::Repeated);
    }
    let header = header
        .to_str()
        .map_err(|_| AuthenticationError::Malformed)?;
    let (scheme, token) = header
        .trim()
        .split_once(' ')
        .ok_or(AuthenticationError::Malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(AuthenticationError::WrongScheme);
    }
    let token = token.trim();
    match Environment::from_token(token) {
        Some(of_token) if of_token == environment => Ok(TokenDigest::from_text(token)),
        Some(_) => Err(AuthenticationError::OtherEnvironment),
        None => Err(AuthenticationError::Malformed),
    }
}

/// Reason for the lack of a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthenticationError {
    /// There is no `Authorization` header.
    Missing,
    /// The header is not a scheme and a token, or the token does not have the form of one.
    Malformed,
    /// There is more than one `Authorization` header.
    Repeated,
    /// The scheme is another than `Bearer`.
    WrongScheme,
    /// The token is for another environment.
    OtherEnvironment,
    /// The register does not accept the token.
    Refused(TokenRefusal),
}

impl AuthenticationError {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Missing,
        Self::Malformed,
        Self::Repeated,
        Self::WrongScheme,
        Self::OtherEnvironment,
        Self::Refused(TokenRefusal::Unknown),
        Self::Refused(TokenRefusal::Revoked),
        Self::Refused(TokenRefusal::Expired),
        Self::Refused(TokenRefusal::ProviderClosed),
    ];

    /// The value of `WWW-Authenticate` in the reply (RFC 6750, section 3). All tokens that are
    /// refused after a look-up get the same value, so that a client cannot tell a token that was
    /// once valid from an invented one.
    #[must_use]
    pub const fn challenge(self) -> &'static str {
        match self {
            Self::Missing => "Bearer",
            Self::Malformed => {
                "Bearer error=\"invalid_request\", \
                 error_description=\"the Authorization header must be Bearer, a space, and a token as it was issued\""
            }
            Self::Repeated => {
                "Bearer error=\"invalid_request\", error_description=\"there must be one Authorization header\""
            }
            Self::WrongScheme => {
                "Bearer error=\"invalid_request\", \
                 error_description=\"the scheme of the Authorization header must be Bearer\""
            }
            Self::OtherEnvironment => {
                "Bearer error=\"invalid_token\", error_description=\"the token is for another environment\""
            }
            Self::Refused(_) => {
                "Bearer error=\"invalid_token\", error_description=\"the token is not accepted\""
            }
        }
    }

    /// The reason in one word, for operators.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Repeated => "repeated",
            Self::WrongScheme => "wrong_scheme",
            Self::OtherEnvironment => "other_environment",
            Self::Refused(TokenRefusal::Unknown) => "unknown",
            Self::Refused(TokenRefusal::Revoked) => "revoked",
            Self::Refused(TokenRefusal::Expired) => "expired",
            Self::Refused(TokenRefusal::ProviderClosed) => "provider_closed",
        }
    }
}

impl fmt::Display for AuthenticationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
