//! A first request for a newcomer: a provider, a token, and lines to paste.

use std::net::SocketAddr;

use adapter_kit::{ApiVersion, Versions};
use serde_json::{Map, Value};
use storage::error::StorageError;
use storage::tokens::{Environment, NewToken};

use crate::cli::CommandError;
use crate::register::Register;
use crate::seed::sow;

/// The provider of the demo; the number is in no register of providers.
const DEMO_UKPRN: &str = "10099999";
const DEMO_NAME: &str = "Demo Provider";
/// Invented trainees that a new demo provider gets.
const DEMO_TRAINEES: usize = 50;
const DEMO_SEED: u64 = 2026;

/// A trainee whom every rule accepts, in the canonical names, which are those of the newest version.
pub const EXAMPLE: &str = r#"{"first_names":"Trainee","last_name":"Example","date_of_birth":"1999-04-12","sex":"10","email":"trainee@example.com","nationality":"GB","training_route":"11","itt_start_date":"2026-09-01","itt_end_date":"2027-07-16","course_subject_1":"100403","study_mode":"01","itt_aim":202,"itt_qualification_aim":"001","course_year":"1","course_age_range":"13918","fund_code":"2","funding_method":"6","agency_id":"0310261553101","provider_trainee_id":"P-0001","ethnicity":"120","disability1":"58","placements_attributes":[{"urn":"900020","name":"Placement"}],"degrees_attributes":[{"grade":"02","subject":"100485","institution":"0117","uk_degree":"083","graduation_year":"2021"}]}"#;

/// Makes sure that the demo provider exists and has trainees, issues a fresh token for it, and says what to try first.
///
/// # Errors
///
/// When the store fails.
pub fn prepare(register: &Register, address: SocketAddr) -> Result<String, CommandError> {
    let (token, is_new) = register.store.write_blocking::<_, StorageError>(|session| {
        session.ensure_provider(DEMO_UKPRN, DEMO_NAME)?;
        let is_new = match session.open_provider(DEMO_UKPRN)? {
            Some(mut provider) => !provider.has_trainees()?,
            None => false,
        };
        let name = format!("demo of {}", session.now().format("%Y-%m-%d %H:%M"));
        let (token, _) = session.issue_token(&NewToken {
            provider_ukprn: DEMO_UKPRN,
            environment: Environment::Sandbox,
            name: &name,
            created_by: "demo",
            expires_on: None,
        })?;
        Ok((token, is_new))
    })?;
    if is_new {
        sow(&register.store, DEMO_UKPRN, DEMO_TRAINEES, DEMO_SEED, |_| {})?;
    }
    Ok(introduction(register.versions, address, token.reveal()))
}

fn introduction(versions: &Versions, address: SocketAddr, token: &str) -> String {
    let (Some(oldest), Some(newest)) = (versions.iter().next(), versions.newest()) else { return String::new() };
    let (old, new) = (oldest.version.label, newest.version.label);
    let body = example(oldest.version);
    format!(
        r#"
The Trainee Register is at http://{address}, with an API for each of: {labels}.
It is a sandbox with invented schools, and a provider called {DEMO_NAME} with invented trainees. Stop it with Ctrl-C.

Paste these lines into another terminal.

TOKEN={token}

# 1. List the trainees whose training starts in this academic cycle, three on a page.
curl -i -w '\n' "http://{address}/api/{new}/trainees?per_page=3" -H "Authorization: Bearer $TOKEN"

# 2. Register a trainee in {old}. The reply is a 201 with the new record
#    (or, when a run before this one has done so already, the 409 of step 3).
curl -i -w '\n' http://{address}/api/{old}/trainees \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{body}'

# 3. Send the same body again: a 409 that shows the trainee who is already there.
#    This time, keep the identifier.
TRAINEE_ID=$(curl -s -w '\nstatus %{{http_code}}\n' http://{address}/api/{old}/trainees \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{body}' \
  | tee /dev/stderr | sed -n 's/.*"trainee_id":"\([^"]*\)".*/\1/p')

# 4. Read the trainee in {new}, under the names of that version.
curl -i -w '\n' http://{address}/api/{new}/trainees/$TRAINEE_ID -H "Authorization: Bearer $TOKEN"
"#,
        labels = versions.iter().map(|served| served.version.label.to_string()).collect::<Vec<_>>().join(", "),
    )
}

/// The body that registers the example in a version.
#[must_use]
pub fn example(version: &ApiVersion) -> String {
    let canonical: Map<String, Value> = serde_json::from_str(EXAMPLE).unwrap_or_default();
    let inputs = &version.inputs.trainee;
    let name = |canonical: &str| {
        let known = inputs
            .entries
            .iter()
            .find(|input| canonical == input.name || canonical == domain::RecordField::info(input.field).name);
        known.map_or(canonical.to_owned(), |input| input.name.to_owned())
    };
    let data: Map<String, Value> = canonical.iter().map(|(key, value)| (name(key), value.clone())).collect();
    serde_json::json!({ "data": data }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions;

    #[test]
    fn the_readme_shows_the_example_as_the_oldest_version_spells_it() {
        let body = example(versions::all().iter().next().unwrap().version);
        assert!(include_str!("../../../README.md").contains(&format!("-d '{body}'")), "{body}");
    }

    #[test]
    fn the_example_is_spelt_as_each_version_spells_it() {
        for served in versions::all().iter() {
            let body: Value = serde_json::from_str(&example(served.version)).unwrap();
            let data = body.get("data").and_then(Value::as_object).unwrap();
            for key in data.keys() {
                assert!(served.version.inputs.trainee.field(key).is_some(), "{} {key}", served.version.label);
            }
            assert_eq!(data.len(), serde_json::from_str::<Map<String, Value>>(EXAMPLE).unwrap().len());
        }
    }
}
