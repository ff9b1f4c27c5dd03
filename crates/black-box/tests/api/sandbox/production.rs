//! In production the paths of the sandbox do not exist.

use adapter_kit::Endpoint;
use storage::base::token::Environment;
use versions::SERVED;

use crate::api::support::{Register, Setup};

#[test]
fn sandbox_paths_are_not_found_in_production() {
    let register = Register::with_setup(Setup {
        environment: Environment::Production,
        ..Setup::default()
    });
    let mut asked = 0;
    for version in SERVED {
        let api = register.api(version);
        let created = api.create(
            api.example()
                .with(domain::TraineeField::last_name, version.label.to_string()),
        );
        for endpoint in version
            .endpoints
            .all()
            .filter(|endpoint| endpoint.row().sandbox_only)
        {
            let path = endpoint.path().replace("{trainee_id}", created.id());
            for method in ["POST", "GET", "OPTIONS", "DELETE"] {
                for request in [
                    api.request(method, &path),
                    api.request(method, &path).without("Authorization"),
                ] {
                    assert_eq!(
                        request.send().error(404, "NotFound"),
                        "not found",
                        "{method} {path}"
                    );
                    asked += 1;
                }
            }
            // Nothing leads there either.
            let message = api
                .get(&format!("{path}s"))
                .error(404, "NotFound")
                .to_owned();
            assert!(!message.contains("sandbox"), "{message}");
        }
        assert_eq!(api.read(created.id()).data, created.data);
    }
    assert_eq!(asked, 2 * 8 * SERVED.len());
}

#[test]
fn sandbox_paths_are_those_that_say_so() {
    for endpoint in Endpoint::ALL {
        assert_eq!(
            endpoint.row().sandbox_only,
            endpoint.path().starts_with("/sandbox/"),
            "{endpoint}"
        );
    }
}
