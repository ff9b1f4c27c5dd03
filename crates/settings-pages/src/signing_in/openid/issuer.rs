//! The issuer of OpenID Connect: its metadata, the address for sending a browser there, and the
//! verification of its answer.
//!
//! `openidconnect` verifies the signature, issuer, audience, nonce and time of an ID token.
//! Functions that call the issuer block their thread.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClaimName, CoreClaimType, CoreClientAuthMethod,
    CoreErrorResponseType, CoreGenderClaim, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreJwsSigningAlgorithm,
    CoreResponseMode, CoreResponseType, CoreRevocableToken, CoreRevocationErrorResponse,
    CoreSubjectIdentifierType, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::url::Url;
use openidconnect::{
    AdditionalProviderMetadata, AuthType, AuthenticationFlow, AuthorizationCode,
    ClaimsVerificationError, Client, ClientId, ClientSecret, CsrfToken, DiscoveryError,
    EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenClaims,
    IdTokenFields, IdTokenVerifier, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge,
    PkceCodeVerifier, ProviderMetadata, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
    UserInfoClaims, UserInfoError,
};
use serde::{Deserialize, Serialize};
use storage::accounts::users::{BegunSignIn, Identity, SignInAttempt, normalised_email};
use storage::base::token::Environment;

use super::claims::{ClaimNames, OtherClaims};
use super::fetch::{self, AddressError, Fetch, FetchError};

/// For cached metadata.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);
/// Before metadata is fetched again because of an unknown key.
const MIN_AGE: TimeDelta = TimeDelta::minutes(1);
/// With published keys only: not with a shared secret, and not unsigned.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Whether the issuer names itself in its answers (RFC 9207).
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AnswersNameIssuer {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for AnswersNameIssuer {}

type Metadata = ProviderMetadata<
    AnswersNameIssuer,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

type TokenFields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

type TokenReply = StandardTokenResponse<TokenFields, CoreTokenType>;

type TokenError<E> = RequestTokenError<E, StandardErrorResponse<CoreErrorResponseType>>;

type IssuerClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    TokenReply,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;

#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// Exactly as in the metadata.
    pub issuer: String,
    /// Of the register at the issuer.
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<String>,
    /// Besides `openid`.
    pub scopes: Vec<String>,
    pub claims: ClaimNames,
}

/// Cheap to clone; all clones share the cached metadata.
#[derive(Debug, Clone)]
pub struct Issuer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    scopes: Vec<Scope>,
    claims: ClaimNames,
    client: fetch::Client,
    discovered: Mutex<Option<Arc<Discovered>>>,
}

#[derive(Debug)]
pub(crate) struct Discovered {
    metadata: Metadata,
    at: DateTime<Utc>,
}

impl Discovered {
    fn is_within(&self, age: TimeDelta, now: DateTime<Utc>) -> bool {
        // Metadata from the future, after a clock was set back, counts as old.
        (TimeDelta::zero()..age).contains(&(now - self.at))
    }
}

/// Parameters of the redirection to the callback.
pub(crate) struct Answer {
    pub(crate) code: String,
    pub(crate) issuer: Option<String>,
}

/// Texts contain no personal data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IssuerError {
    #[error("{0}")]
    Fetch(#[from] FetchError),
    #[error("unusable metadata: {0}")]
    Metadata(String),
    #[error("invalid OpenID Connect response")]
    Reply,
    #[error("code rejected: {0}")]
    Refused(&'static str),
    /// The answer has no code.
    #[error("sign-in refused: {0}")]
    Declined(&'static str),
    /// Also if the answer does not name the issuer although it should.
    #[error("wrong issuer in the answer")]
    OtherIssuer,
    #[error("invalid ID token: {0}")]
    Token(&'static str),
}

impl IssuerError {
    /// Whether the issuer is at fault, instead of the answer.
    pub(crate) fn is_of_issuer(&self) -> bool {
        matches!(self, Self::Fetch(_) | Self::Metadata(_) | Self::Reply)
    }
}

impl Issuer {
    /// Creates an issuer. Does not call it.
    ///
    /// # Errors
    ///
    /// [`AddressError`]
    pub fn new(config: IssuerConfig, environment: Environment) -> Result<Self, AddressError> {
        let issuer = IssuerUrl::new(config.issuer).map_err(|_| AddressError::NotHttps)?;
        let client = fetch::Client::new(issuer.url(), environment)?;
        Ok(Self(Arc::new(Inner {
            issuer,
            client_id: ClientId::new(config.client_id),
            client_secret: config.client_secret.map(ClientSecret::new),
            scopes: config.scopes.into_iter().map(Scope::new).collect(),
            claims: config.claims,
            client,
            discovered: Mutex::default(),
        })))
    }

    /// Returns the host that is shown to users.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.issuer.url().host_str().unwrap_or_default()
    }

    /// Returns the metadata, fetched within the last hour.
    pub(crate) fn discover(&self, now: DateTime<Utc>) -> Result<Arc<Discovered>, IssuerError> {
        self.discover_by(&self.0.client.begin(), now)
    }

    /// Like [`Issuer::discover`], within the time limit of other requests.
    fn discover_by(
        &self,
        fetch: &Fetch<'_>,
        now: DateTime<Utc>,
    ) -> Result<Arc<Discovered>, IssuerError> {
        match self
            .read_cache()
            .filter(|known| known.is_within(MAX_AGE, now))
        {
            Some(known) => Ok(known),
            None => self.fetch_metadata(fetch, now),
        }
    }

    fn read_cache(&self) -> Option<Arc<Discovered>> {
        // A poisoned lock is harmless: the value is replaced in one step.
        self.0
            .discovered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn fetch_metadata(
        &self,
        fetch: &Fetch<'_>,
        now: DateTime<Utc>,
    ) -> Result<Arc<Discovered>, IssuerError> {
        let metadata = Metadata::discover(&self.0.issuer, fetch).map_err(|error| match error {
            DiscoveryError::Request(error) => IssuerError::Fetch(error),
            DiscoveryError::Response(status, ..) => {
                IssuerError::Metadata(format!("status {}", status.as_u16()))
            }
            DiscoveryError::Parse(_) => IssuerError::Metadata("no metadata or no keys".to_owned()),
            DiscoveryError::Validation(_) => {
                IssuerError::Metadata("the issuer has another name".to_owned())
            }
            DiscoveryError::Other(_) | DiscoveryError::UrlParse(_) | _ => {
                IssuerError::Metadata("no metadata".to_owned())
            }
        })?;
        if !self
            .0
            .client
            .reaches(metadata.authorization_endpoint().url())
        {
            return Err(FetchError::Address.into());
        }
        let discovered = Arc::new(Discovered { metadata, at: now });
        *self
            .0
            .discovered
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&discovered));
        Ok(discovered)
    }

    pub(crate) fn build_authorization_address(
        &self,
        discovered: &Discovered,
        redirect: &RedirectUrl,
        begun: &BegunSignIn,
    ) -> Url {
        let verifier = PkceCodeVerifier::new(begun.code_verifier.reveal().to_owned());
        let state = begun.state.reveal().to_owned();
        let nonce = begun.nonce.reveal().to_owned();
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let client = self.build_client(discovered);
        let request = client.authorize_url(flow, || CsrfToken::new(state), || Nonce::new(nonce));
        let request = request
            .add_scopes(self.0.scopes.iter().cloned())
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .set_redirect_uri(Cow::Borrowed(redirect));
        request.url().0
    }

    /// Rejects an answer that names another issuer, or that lacks the name although the issuer
    /// sends it.
    fn require_own_answer(
        &self,
        discovered: &Discovered,
        named: Option<&str>,
    ) -> Result<(), IssuerError> {
        // Mix-up attacks use such answers (RFC 9207).
        let AnswersNameIssuer {
            authorization_response_iss_parameter_supported,
        } = *discovered.metadata.additional_metadata();
        match named {
            Some(named) if named == self.0.issuer.as_str() => Ok(()),
            None if !authorization_response_iss_parameter_supported => Ok(()),
            Some(_) | None => Err(IssuerError::OtherIssuer),
        }
    }

    /// Redeems the code of an answer, and returns the identity in the ID token.
    pub(crate) fn identify(
        &self,
        answer: Answer,
        redirect: &RedirectUrl,
        attempt: SignInAttempt,
        now: DateTime<Utc>,
    ) -> Result<Identity, IssuerError> {
        let fetch = self.0.client.begin();
        let discovered = self.discover_by(&fetch, now)?;
        self.require_own_answer(&discovered, answer.issuer.as_deref())?;
        let client = self.build_client(&discovered);
        let request = client
            .exchange_code(AuthorizationCode::new(answer.code))
            .map_err(|_| report_missing_endpoint())?;
        let reply = request
            .set_pkce_verifier(PkceCodeVerifier::new(attempt.code_verifier))
            .set_redirect_uri(Cow::Borrowed(redirect))
            .request(&fetch)
            .map_err(explain_refusal)?;
        let nonce = Nonce::new(attempt.nonce);
        let token = reply
            .id_token()
            .ok_or(IssuerError::Token("the token is missing"))?;
        let claims = match token.claims(&self.build_verifier(&discovered, now), &nonce) {
            // The issuer may have a new key.
            Err(ClaimsVerificationError::SignatureVerification(_))
                if !discovered.is_within(MIN_AGE, now) =>
            {
                let discovered = self.fetch_metadata(&fetch, now)?;
                token.claims(&self.build_verifier(&discovered, now), &nonce)
            }
            verified => verified,
        };
        let claims = claims.map_err(|error| IssuerError::Token(explain_invalid_token(&error)))?;
        let more = self.request_user_info(&client, &fetch, claims, &reply)?;
        Ok(self.read_identity(claims, more.as_ref()))
    }

    /// Requests the user info if the ID token lacks a configured claim.
    fn request_user_info(
        &self,
        client: &IssuerClient,
        fetch: &Fetch<'_>,
        claims: &Claims,
        reply: &TokenReply,
    ) -> Result<Option<UserInfoClaims<OtherClaims, CoreGenderClaim>>, IssuerError> {
        let has_email = claims.email().is_some() && claims.email_verified().is_some();
        let has_all = has_email
            && self
                .0
                .claims
                .iter()
                .all(|name| claims.additional_claims().has(name));
        if has_all || client.user_info_url().is_none() {
            return Ok(None);
        }
        let subject = Some(claims.subject().clone());
        let request = client
            .user_info(reply.access_token().clone(), subject)
            .map_err(|_| report_missing_endpoint())?;
        let request = request.require_signed_response(false).request(fetch);
        request.map(Some).map_err(|error| match error {
            UserInfoError::Request(error) => IssuerError::Fetch(error),
            UserInfoError::ClaimsVerification(_) => {
                IssuerError::Token("the user info belongs to another user")
            }
            UserInfoError::Parse(_) | UserInfoError::Response(..) | UserInfoError::Other(_) | _ => {
                IssuerError::Reply
            }
        })
    }

    fn read_identity(
        &self,
        claims: &Claims,
        more: Option<&UserInfoClaims<OtherClaims, CoreGenderClaim>>,
    ) -> Identity {
        // The address and its verification come from the same source.
        let (email, is_verified) = match (claims.email(), more) {
            (None, Some(more)) => (more.email(), more.email_verified()),
            (Some(email), Some(more))
                if claims.email_verified().is_none() && more.email() == Some(email) =>
            {
                (Some(email), more.email_verified())
            }
            (email, _) => (email, claims.email_verified()),
        };
        let email = email.filter(|_| is_verified == Some(true));
        let more = more.map(UserInfoClaims::additional_claims);
        let claimed = self.0.claims.read(claims.additional_claims(), more);
        Identity {
            issuer: self.0.issuer.as_str().to_owned(),
            subject: claims.subject().as_str().to_owned(),
            email: email.and_then(|email| normalised_email(email).ok()),
            ukprns: claimed.ukprns,
            role: claimed.role,
            is_operator: claimed.is_operator,
        }
    }

    fn build_verifier(
        &self,
        discovered: &Discovered,
        now: DateTime<Utc>,
    ) -> IdTokenVerifier<'static, CoreJsonWebKey> {
        let client_id = self.0.client_id.clone();
        let issuer = self.0.issuer.clone();
        IdTokenVerifier::new_public_client(client_id, issuer, discovered.metadata.jwks().clone())
            .set_allowed_algs(ALGORITHMS)
            .set_time_fn(move || now)
    }

    fn build_client(&self, discovered: &Discovered) -> IssuerClient {
        let metadata = &discovered.metadata;
        let methods = metadata.token_endpoint_auth_methods_supported();
        // The secret is in the body only if the issuer supports nothing else.
        let is_in_body = methods.is_some_and(|methods| {
            methods.contains(&CoreClientAuthMethod::ClientSecretPost)
                && !methods.contains(&CoreClientAuthMethod::ClientSecretBasic)
        });
        let id = self.0.client_id.clone();
        let secret = self.0.client_secret.clone();
        let client = IssuerClient::from_provider_metadata(metadata.clone(), id, secret);
        client.set_auth_type(if is_in_body {
            AuthType::RequestBody
        } else {
            AuthType::BasicAuth
        })
    }
}

fn report_missing_endpoint() -> IssuerError {
    IssuerError::Metadata("no token endpoint".to_owned())
}

/// Explains why a code was not redeemed, with codes of the standard only.
fn explain_refusal(error: TokenError<FetchError>) -> IssuerError {
    match error {
        RequestTokenError::Request(error) => IssuerError::Fetch(error),
        RequestTokenError::ServerResponse(response) => match response.error() {
            CoreErrorResponseType::InvalidGrant => IssuerError::Refused("invalid_grant"),
            CoreErrorResponseType::InvalidClient => {
                IssuerError::Metadata("client refused: invalid_client".into())
            }
            CoreErrorResponseType::UnauthorizedClient => {
                IssuerError::Metadata("client refused: unauthorized_client".into())
            }
            CoreErrorResponseType::InvalidRequest
            | CoreErrorResponseType::InvalidScope
            | CoreErrorResponseType::UnsupportedGrantType
            | CoreErrorResponseType::Extension(_) => IssuerError::Refused("another reason"),
        },
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => IssuerError::Reply,
    }
}

/// Explains why an ID token is invalid, without its values.
fn explain_invalid_token(error: &ClaimsVerificationError) -> &'static str {
    match error {
        ClaimsVerificationError::Expired(_) => "expired",
        ClaimsVerificationError::InvalidAudience(_) => "wrong audience",
        ClaimsVerificationError::InvalidIssuer(_) => "wrong issuer",
        ClaimsVerificationError::InvalidNonce(_) => "wrong nonce",
        ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        ) => "unknown key",
        ClaimsVerificationError::SignatureVerification(_) => "invalid signature",
        ClaimsVerificationError::InvalidAuthContext(_)
        | ClaimsVerificationError::InvalidAuthTime(_)
        | ClaimsVerificationError::InvalidSubject(_)
        | ClaimsVerificationError::Other(_)
        | ClaimsVerificationError::Unsupported(_)
        | _ => "malformed claims",
    }
}
