//! A provider, a token and links for a first visit.

use adapter_kit::{ApiVersion, Endpoint, Versions};
use gateway::state::GatewayState;
use http_kit::paths;
use storage::accounts::tokens::NewToken;
use storage::accounts::users::{Actor, NewInvitation, Secret, UserRole};
use storage::base::cause::Cause;
use storage::base::token::{Environment, Token};
use storage::error::StorageError;
use storage::session::Session;
use version_tools::openapi::examples;

use crate::cli::error::CommandError;
use crate::sandbox::seed::fill;

/// The UKPRN of the demo provider. No real provider has this number.
const DEMO_UKPRN: &str = "10099999";
const DEMO_NAME: &str = "Demo Provider";
/// The user of the demo provider.
const DEMO_EMAIL: &str = "demo@example.com";
const DEMO_OPERATOR_EMAIL: &str = "operator@example.com";
/// The number of invented trainees of a new demo provider.
const DEMO_TRAINEES: usize = 50;
const DEMO_SEED: u64 = 2026;

/// Addresses of a server that runs a demo.
#[derive(Debug, Clone, Copy)]
pub struct DemoSites<'a> {
    /// The site of the API and the documentation.
    pub api: &'a str,
    /// The site of the providers' settings, if they are served.
    pub settings: Option<&'a str>,
    /// The site of the operators' pages, if they are served.
    pub operators: Option<&'a str>,
}

/// Creates the demo provider with invented trainees unless it exists, issues a new token for it,
/// and invites a user of the provider and an operator. Returns the lines to print.
///
/// # Errors
///
/// When the store fails.
pub fn prepare(
    state: &GatewayState,
    sites: DemoSites<'_>,
    database_url: &str,
) -> Result<String, CommandError> {
    let has_operators = sites.operators.is_some();
    let access = state
        .store
        .write_blocking::<_, StorageError>(move |session| {
            session.ensure_provider(DEMO_UKPRN, DEMO_NAME)?;
            let is_new = match session.open_provider(DEMO_UKPRN, Cause::new("demo"))? {
                Some(mut provider) => !provider.has_trainees()?,
                None => false,
            };
            let name = format!("demo of {}", session.now().format("%Y-%m-%d %H:%M"));
            let (token, _) = session.issue_token(&NewToken {
                provider_ukprn: DEMO_UKPRN,
                environment: Environment::Sandbox,
                name: &name,
                created_by: Actor::operator("demo"),
                expires_on: None,
            })?;
            let user = session.invite_user(
                Actor::operator("demo"),
                NewInvitation {
                    provider_ukprn: Some(DEMO_UKPRN),
                    email: DEMO_EMAIL,
                    role: UserRole::Admin,
                },
            )?;
            let operator = if has_operators {
                Some(invite_operator(session)?)
            } else {
                None
            };
            Ok(Access {
                token,
                user: user.secret,
                operator,
                is_new,
            })
        })?;
    if access.is_new {
        fill(
            &state.store,
            state.lists,
            DEMO_UKPRN,
            DEMO_TRAINEES,
            DEMO_SEED,
            None,
            |_| {},
        )?;
    }
    let trainees = if access.is_new {
        format!("{DEMO_TRAINEES} invented trainees")
    } else {
        "data of the last run".to_owned()
    };
    let title = format!(
        "Trainee Register (sandbox)   {}, {trainees}",
        database_name(database_url)
    );
    Ok(introduction(&title, state.versions, sites, &access))
}

/// Invites the operator of the demo, and returns the secret of the sign-in link.
fn invite_operator(session: &mut Session<'_>) -> Result<Secret, StorageError> {
    let invitation = NewInvitation {
        provider_ukprn: None,
        email: DEMO_OPERATOR_EMAIL,
        role: UserRole::Operator,
    };
    Ok(session
        .invite_user(Actor::operator("demo"), invitation)?
        .secret)
}

/// The token and the sign-in links that the demo prints.
struct Access {
    token: Token,
    /// The secret of the sign-in link for the settings.
    user: Secret,
    /// The secret of the link for the operators' pages, if they are served.
    operator: Option<Secret>,
    /// Whether the demo provider had no trainees.
    is_new: bool,
}

/// Returns the path of the page about the move from the oldest version to the newest. If there is
/// only one version, returns the path of the documents.
fn move_path(versions: &Versions) -> String {
    let mut labels = versions.iter().map(|served| served.version.label);
    match (labels.next(), labels.next_back()) {
        (Some(oldest), Some(newest)) => paths::move_page(oldest, newest),
        (_, _) => paths::DOCS.to_owned(),
    }
}

/// The lines to print: links, the token and an example request under a title.
fn introduction(title: &str, versions: &Versions, sites: DemoSites<'_>, access: &Access) -> String {
    let token = access.token.reveal();
    let mut lines = vec![("Documentation", format!("{}{}", sites.api, paths::DOCS))];
    if let Some(site) = sites.settings {
        lines.push((
            "Settings",
            format!(
                "{}   (once, 15 minutes)",
                paths::sign_in(site, access.user.reveal())
            ),
        ));
    }
    if let (Some(site), Some(operator)) = (sites.operators, &access.operator) {
        lines.push(("Operators", paths::sign_in(site, operator.reveal())));
    }
    lines.push(("Token", token.to_owned()));
    if let Some(newest) = versions.newest() {
        let address = format!(
            "{}/api/{}/trainees?per_page=1",
            sites.api, newest.version.label
        );
        lines.push((
            "Try",
            format!("curl \"{address}\" -H \"Authorization: Bearer {token}\""),
        ));
    }
    lines.push(("Move", format!("{}{}", sites.api, move_path(versions))));
    let lines = lines
        .iter()
        .map(|(name, text)| format!("\n  {name:<15}{text}"));
    format!("\n{title}{}\n", lines.collect::<String>())
}

/// The database in a form for printing, without user and password.
fn database_name(url: &str) -> String {
    match url.strip_prefix("sqlite://") {
        Some(path) => format!("SQLite: {path}"),
        None => "PostgreSQL".to_owned(),
    }
}

/// The example body for registering a trainee in a version.
#[must_use]
pub fn example(version: &ApiVersion) -> String {
    let body = examples::request(version, Endpoint::CreateTrainee);
    body.map(|body| body.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_is_named_without_its_password() {
        assert_eq!(
            database_name("sqlite://var/register.db"),
            "SQLite: var/register.db"
        );
        assert_eq!(
            database_name("postgres://user:secret@host/name"),
            "PostgreSQL"
        );
    }
}
