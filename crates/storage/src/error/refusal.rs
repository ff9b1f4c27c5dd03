//! What the register does not do although the database could: the request breaks a rule about
//! providers, tokens, users or the environment.

use crate::base::token::TokenStatus;

/// Why a request from the command line or from a page of the settings was refused. The user who
/// sent it can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A provider's UKPRN is eight digits.
    #[error("ukprn must be eight digits")]
    InvalidUkprn,
    /// A provider's name says something.
    #[error("provider name is blank")]
    BlankProviderName,
    /// A provider's name has 1 to 200 characters.
    #[error("provider name must have 1 to 200 characters on one line")]
    InvalidProviderName,
    /// A provider has this UKPRN, which may be the same one.
    #[error("there is a provider with this ukprn already")]
    UkprnTaken,
    /// No provider has this UKPRN.
    #[error("no provider has this ukprn")]
    UnknownProvider,
    /// A closed provider gets no tokens.
    #[error("provider is closed")]
    ProviderClosed,
    /// A token's name has 1 to 200 characters.
    #[error("token name must have 1 to 200 characters on one line")]
    InvalidTokenName,
    /// A user asks for a token, and the organisation has as many as it may have.
    #[error("organisation has too many tokens")]
    TooManyTokens,
    /// A token expires after today and within six months.
    #[error("token must expire after today and at most six months ahead")]
    ExpiryOutOfRange,
    /// No token has this number.
    #[error("no token has this number")]
    UnknownToken,
    /// Only a token that is accepted is replaced by another one.
    #[error("token is {0}; issue a new one")]
    TokenEnded(TokenStatus),
    /// A token that is replaced is accepted until a day after today.
    #[error("the old token must be accepted until a day after today")]
    OverlapOutOfRange,
    /// So many numbers are taken that none was found that is free.
    #[error("no free trn was found")]
    NoFreeTrn,
    /// The person is to be invited by an e-mail address.
    #[error("that is not an e-mail address")]
    InvalidEmail,
    /// A user of an organisation is an admin or a viewer.
    #[error("role must be admin or viewer")]
    UnknownRole,
    /// Operators belong to no organisation, and nobody else is one.
    #[error(
        "operators belong to no organisation, and users of an organisation are admins or viewers"
    )]
    RoleOfOtherKind,
    /// A user does not invite somebody who has access already.
    #[error("person has access already")]
    HasAccess,
    /// A link was used, replaced or withdrawn, has expired, or never was.
    #[error("link cannot be used")]
    LinkNotUsable,
    /// An attempt to sign in was begun in another browser, has expired, was used, or never was.
    #[error("attempt to sign in cannot be used")]
    SignInNotUsable,
    /// An identity may sign in to nothing, or not to that.
    #[error("identity has no access")]
    NoAccess,
    /// No user who has access has this number.
    #[error("no user has this number")]
    UnknownUser,
    /// The reason for erasing a user is kept, and would keep what is to be erased.
    #[error("the reason names the person, and is kept: word it without the e-mail address")]
    ReasonNamesPerson,
    /// The user has no such session.
    #[error("user has no such session")]
    UnknownSession,
    /// An organisation keeps an admin.
    #[error("user is the last admin")]
    LastAdmin,
    /// The user may not do that.
    #[error("user may not do that")]
    NotPermitted,
    /// The name of an environment is `sandbox` or `production`.
    #[error("environment must be sandbox or production")]
    UnknownEnvironment,
}
