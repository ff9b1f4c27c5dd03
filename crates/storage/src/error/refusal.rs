//! Requests that break a rule about providers, tokens, users or the environment.

use crate::base::token::TokenStatus;

/// The reason for refusing a request from the command line or from a page of the settings. The user
/// who sent the request can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A provider's UKPRN must be eight digits.
    #[error("ukprn must be eight digits")]
    InvalidUkprn,
    /// A provider's name must not be blank.
    #[error("provider name is blank")]
    BlankProviderName,
    /// A provider's name must have 1 to 200 characters.
    #[error("provider name must have 1 to 200 characters on one line")]
    InvalidProviderName,
    /// A provider with this UKPRN exists, possibly the provider of the request itself.
    #[error("there is a provider with this ukprn already")]
    UkprnTaken,
    /// No provider has this UKPRN.
    #[error("no provider has this ukprn")]
    UnknownProvider,
    /// The register issues no tokens to closed providers.
    #[error("provider is closed")]
    ProviderClosed,
    /// A token's name must have 1 to 200 characters.
    #[error("token name must have 1 to 200 characters on one line")]
    InvalidTokenName,
    /// The organisation already has the largest number of tokens that users may create.
    #[error("organisation has too many tokens")]
    TooManyTokens,
    /// A token must expire after today and within six months.
    #[error("token must expire after today and at most six months ahead")]
    ExpiryOutOfRange,
    /// No token has this number.
    #[error("no token has this number")]
    UnknownToken,
    /// The provider has no run of equal requests (a line of `request list`) with this number.
    #[error("no line of `request list` has this number")]
    UnknownRun,
    /// The token to be replaced is not active.
    #[error("token is {0}; issue a new one")]
    TokenEnded(TokenStatus),
    /// A replaced token must remain accepted until a day after today.
    #[error("the old token must be accepted until a day after today")]
    OverlapOutOfRange,
    /// No free TRN was found among the drawn numbers.
    #[error("no free trn was found")]
    NoFreeTrn,
    /// An invitation needs a valid e-mail address.
    #[error("that is not an e-mail address")]
    InvalidEmail,
    /// A user of an organisation must be an admin, an editor or a viewer.
    #[error("role must be admin, editor or viewer")]
    UnknownRole,
    /// The role does not fit the user. Operators belong to no organisation. Users of an
    /// organisation are admins, editors or viewers.
    #[error(
        "operators belong to no organisation, and users of an organisation are admins, editors or viewers"
    )]
    RoleOfOtherKind,
    /// The invited person already has access.
    #[error("person has access already")]
    HasAccess,
    /// The link was used, replaced or withdrawn, has expired, or never existed.
    #[error("link cannot be used")]
    LinkNotUsable,
    /// The sign-in attempt was started in another browser, was used, has expired, or never
    /// existed.
    #[error("attempt to sign in cannot be used")]
    SignInNotUsable,
    /// The identity has no access at all, or no access to the chosen organisation.
    #[error("identity has no access")]
    NoAccess,
    /// No user who has access has this number.
    #[error("no user has this number")]
    UnknownUser,
    /// The reason for erasing a user contains the user's e-mail address. The register keeps the
    /// reason, so it must not contain erased data.
    #[error("the reason names the person, and is kept: word it without the e-mail address")]
    ReasonNamesPerson,
    /// The user has no such session.
    #[error("user has no such session")]
    UnknownSession,
    /// The user already has the largest number of uploads.
    #[error("user has too many uploads")]
    TooManyUploads,
    /// An organisation must keep at least one admin.
    #[error("user is the last admin")]
    LastAdmin,
    /// The user may not perform the action.
    #[error("user may not do that")]
    NotPermitted,
    /// The name of an environment must be `sandbox` or `production`.
    #[error("environment must be sandbox or production")]
    UnknownEnvironment,
}
