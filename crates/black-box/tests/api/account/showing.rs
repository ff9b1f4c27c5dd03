//! The provider of a token.

use serde_json::json;
use storage::accounts::tokens::NewToken;
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use versions::SERVED;

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Register, Setup, every_version};

#[test]
fn account_shows_provider_and_sent_token() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        let issue = |session: &mut storage::session::Session<'_>| {
            let request = NewToken {
                provider_ukprn: UKPRN,
                environment: Environment::Sandbox,
                name: "Test runs",
                created_by: Actor::operator("operator"),
                expires_on: "2026-12-01".parse().ok(),
            };
            Ok(session.issue_token(&request)?.0.reveal().to_owned())
        };
        let second = api
            .register
            .api_with_token(api.version, api.register.operate(issue));
        let label = api.version.label.to_string();
        for (api, ukprn, provider, id, name, end) in [
            (
                api,
                UKPRN,
                "Ashdown University",
                1,
                "Student records system",
                "2027-04-05",
            ),
            (
                &other,
                OTHER_UKPRN,
                "Brackwater College",
                2,
                "Student records system",
                "2027-04-05",
            ),
            (
                &second,
                UKPRN,
                "Ashdown University",
                3,
                "Test runs",
                "2026-12-01",
            ),
        ] {
            let reply = api.get("/account").is(200);
            assert_eq!(
                *reply.data(),
                json!({
                    "provider": { "ukprn": ukprn, "name": provider },
                    "environment": "sandbox",
                    "token": { "id": id, "name": name, "created_at": "2026-10-05T09:00:00.000Z", "expires_on": end },
                    "version": label,
                })
            );
            let secret = api.token.split_once('_').unwrap().1;
            assert!(!reply.body.to_string().contains(secret));
            assert_eq!(
                api.request("HEAD", "/account").send().is(200).body,
                serde_json::Value::Null
            );
        }
    });
}

#[test]
fn account_names_its_environment() {
    for version in SERVED {
        let register = Register::with_setup(Setup {
            environment: Environment::Production,
            ..Setup::default()
        });
        assert_eq!(
            register.api(version).get("/account").is(200).data()["environment"],
            "production"
        );
    }
}

#[test]
fn account_of_a_revoked_token_is_refused() {
    every_version(|api| {
        api.get("/account").is(200);
        api.register
            .operate(|session| session.revoke_token(1, Actor::operator("operator")));
        for path in ["/account", "/account/usage", "/account/readiness"] {
            api.get(path).is(401);
        }
    });
}
