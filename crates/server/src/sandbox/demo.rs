//! A first request for a newcomer: a provider, a token, and lines to paste.

use adapter_kit::{ApiVersion, Endpoint, Versions};
use gateway::state::GatewayState;
use http_kit::paths;
use storage::accounts::tokens::NewToken;
use storage::accounts::users::{Actor, NewInvitation, UserRole};
use storage::base::cause::Cause;
use storage::base::token::Environment;
use storage::error::StorageError;
use version_tools::openapi::examples;

use crate::cli::error::CommandError;
use crate::sandbox::seed::fill;

/// The provider of the demo; the number is in no register of providers.
const DEMO_UKPRN: &str = "10099999";
const DEMO_NAME: &str = "Demo Provider";
/// Who signs in to the settings of the demo provider.
const DEMO_EMAIL: &str = "demo@example.com";
/// Invented trainees that a new demo provider gets.
const DEMO_TRAINEES: usize = 50;
const DEMO_SEED: u64 = 2026;

/// Makes sure that the demo provider exists and has trainees, issues a fresh token for it, and says
/// what to try first. `base` is the site of the API, `settings_site` that of the settings, where
/// they are served, and `registry_delay` is how many seconds the registry takes that is played;
/// `None` where none is.
///
/// # Errors
///
/// When the store fails.
pub fn prepare(
    state: &GatewayState,
    base: &str,
    settings_site: Option<&str>,
    registry_delay: Option<u32>,
) -> Result<String, CommandError> {
    let (token, link, is_new) = state.store.write_blocking::<_, StorageError>(|session| {
        session.ensure_provider(DEMO_UKPRN, DEMO_NAME)?;
        let is_new = match session.open_provider(DEMO_UKPRN, Cause::of("demo"))? {
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
        let link = session.invite_user(
            Actor::operator("demo"),
            NewInvitation {
                provider_ukprn: Some(DEMO_UKPRN),
                email: DEMO_EMAIL,
                role: UserRole::Admin,
            },
        )?;
        Ok((token, link.secret, is_new))
    })?;
    if is_new {
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
    let link = settings_site.map(|site| paths::sign_in(site, link.reveal()));
    Ok(introduction(
        state.versions,
        base,
        token.reveal(),
        link.as_deref(),
        registry_delay,
    ))
}

fn introduction(
    versions: &Versions,
    base: &str,
    token: &str,
    link: Option<&str>,
    registry_delay: Option<u32>,
) -> String {
    let (Some(oldest), Some(newest)) = (versions.iter().next(), versions.newest()) else {
        return String::new();
    };
    let (old, new) = (oldest.version.label, newest.version.label);
    let body = example(oldest.version);
    let registry = registry_delay.map_or_else(String::new, |seconds| {
        format!("\n#    {seconds} seconds after the registration the registry, which is played here, has issued a TRN.")
    });
    let sign_in = link.map_or_else(String::new, |link| {
        format!("\nLook after its tokens in a browser; the link signs you in once, within 15 minutes:\n{link}\n")
    });
    format!(
        r#"
The Trainee Register is at {base}, with an API for each of: {labels}.
It is a sandbox with invented schools, and a provider called {DEMO_NAME} with invented trainees. Stop it with Ctrl-C.
{sign_in}
Paste these lines into another terminal.

TOKEN={token}

# 1. List the trainees whose training starts in this academic cycle, three on a page.
curl -i -w '\n' "{base}/api/{new}/trainees?per_page=3" -H "Authorization: Bearer $TOKEN"

# 2. Register a trainee in {old}. The reply is a 201 with the new record
#    (or, when a run before this one has done so already, the 409 of step 3).
curl -i -w '\n' {base}/api/{old}/trainees \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{body}'

# 3. Send the same body again: a 409 that shows the trainee who is already there.
#    This time, keep the identifier.
TRAINEE_ID=$(curl -s -w '\nstatus %{{http_code}}\n' {base}/api/{old}/trainees \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{body}' \
  | tee /dev/stderr | sed -n 's/.*"trainee_id":"\([^"]*\)".*/\1/p')

# 4. Read the trainee in {new}, under the names of that version.{registry}
curl -i -w '\n' {base}/api/{new}/trainees/$TRAINEE_ID -H "Authorization: Bearer $TOKEN"
"#,
        labels = versions
            .iter()
            .map(|served| served.version.label.to_string())
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// The body that registers the example in a version.
#[must_use]
pub fn example(version: &ApiVersion) -> String {
    let body = examples::request(version, Endpoint::CreateTrainee);
    body.map(|body| body.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_shows_the_example_as_the_oldest_version_spells_it() {
        let body = example(versions::all().iter().next().unwrap().version);
        assert!(
            include_str!("../../../../README.md").contains(&format!("-d '{body}'")),
            "{body}"
        );
    }
}
