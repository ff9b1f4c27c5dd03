//! Why a request has no valid token: for the operator, never for whoever sent it.

use std::fmt;

use storage::tokens::TokenRefusal;

/// Why a request has no valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFailure {
    /// There is no `Authorization` header.
    Missing,
    /// The header is not a scheme and a token, or the token does not begin with the name of an environment.
    Malformed,
    /// The scheme is another than `Bearer`.
    WrongScheme,
    /// The token is for another environment.
    OtherEnvironment,
    /// The register does not accept the token.
    Refused(TokenRefusal),
}

impl TokenFailure {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Missing,
        Self::Malformed,
        Self::WrongScheme,
        Self::OtherEnvironment,
        Self::Refused(TokenRefusal::Unknown),
        Self::Refused(TokenRefusal::Revoked),
        Self::Refused(TokenRefusal::Expired),
        Self::Refused(TokenRefusal::ProviderClosed),
    ];

    /// The failure in one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::WrongScheme => "wrong_scheme",
            Self::OtherEnvironment => "other_environment",
            Self::Refused(TokenRefusal::Unknown) => "unknown",
            Self::Refused(TokenRefusal::Revoked) => "revoked",
            Self::Refused(TokenRefusal::Expired) => "expired",
            Self::Refused(TokenRefusal::ProviderClosed) => "provider_closed",
        }
    }
}

impl fmt::Display for TokenFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
