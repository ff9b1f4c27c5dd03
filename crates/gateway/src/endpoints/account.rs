//! The endpoints that show a provider its own data: its account, its requests, and those that the
//! newest version would refuse or whose values it would lose.
//!
//! The session of the provider reads all data, and cannot read that of other providers.

use crate::request::authentication::AuthenticationError;
use actix_web::http::StatusCode;
use adapter_kit::Label;
use adapter_kit::compose::Data;
use domain::values::iso_8601::timestamp;
use serde::Serialize;
use storage::accounts::tokens::TokenRefusal;
use storage::session::ProviderSession;
use usage::readiness::{ProviderUse, VersionReadiness};
use usage::report::{Report, first_day};

use crate::error::ApiError;
use crate::request::{HandlerContext, query};
use crate::response::ApiResponse;

/// The provider and the token of a request.
#[derive(Serialize)]
struct Account<'a> {
    provider: Provider<'a>,
    environment: String,
    token: Token<'a>,
    version: String,
}

#[derive(Serialize)]
struct Provider<'a> {
    ukprn: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Token<'a> {
    id: i64,
    name: &'a str,
    created_at: String,
    expires_on: String,
}

/// How the provider uses the version, and the reasons that keep it there.
#[derive(Serialize)]
struct OwnReadiness<'a> {
    version: Label,
    newest: Label,
    since: String,
    until: String,
    counted_since: Option<String>,
    usage: Option<&'a ProviderUse>,
}

impl<'a> From<&'a VersionReadiness> for OwnReadiness<'a> {
    fn from(found: &'a VersionReadiness) -> Self {
        Self {
            version: found.version,
            newest: found.newest,
            since: found.since.to_string(),
            until: found.until.to_string(),
            counted_since: found.counted_since.as_ref().map(ToString::to_string),
            usage: found.providers.first(),
        }
    }
}

/// `GET /account`
pub(super) fn show(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let id = session.token_id();
    let tokens = session.own_tokens()?;
    let token = tokens.iter().find(|token| Some(token.id) == id);
    let unknown = ApiError::Unauthorized(AuthenticationError::Refused(TokenRefusal::Unknown));
    let token = token.ok_or(unknown)?;
    let provider = session.provider();
    let data = Account {
        provider: Provider {
            ukprn: &provider.ukprn,
            name: &provider.name,
        },
        environment: request.state.environment.to_string(),
        token: Token {
            id: token.id,
            name: &token.name,
            created_at: timestamp(token.created_at),
            expires_on: token.expires_on.to_string(),
        },
        version: request.version().label.to_string(),
    };
    Ok(ApiResponse::json(StatusCode::OK, &Data { data })?)
}

/// `GET /account/usage`
pub(super) fn usage(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let days = query::days(request.query()).map_err(ApiError::Filters)?;
    let data = Report::load_own(
        session,
        first_day(session.today(), days),
        request.state.versions,
    )?;
    Ok(ApiResponse::json(StatusCode::OK, &Data { data })?)
}

/// `GET /account/readiness`
pub(super) fn readiness(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let days = query::days(request.query()).map_err(ApiError::Filters)?;
    let reports =
        VersionReadiness::load_own(session, [request.served], days, request.state.versions)?;
    // One report for the one version.
    let data = reports.first().map(OwnReadiness::from);
    Ok(ApiResponse::json(StatusCode::OK, &Data { data })?)
}
