//! Finds the path to use instead of a path that only other versions have.
//!
//! Paths follow from the versions and are public, so a client without a token gets the answer too.
//! No record is looked up.

use adapter_kit::{ApiVersion, Endpoint, Versions, identifiers};
use storage::base::token::Environment;

use crate::endpoints::available;

/// Returns the path with the same function in the version of the path. If this version has none,
/// returns the path in the newest version that has it. Returns `None` if the path does not belong to
/// an endpoint of another version.
#[must_use]
pub(super) fn find(path: &str, versions: &Versions, environment: Environment) -> Option<String> {
    let (asked, below) = versions.iter().find_map(|served| {
        let below = path.strip_prefix(&served.version.label.base_path())?;
        Some((served, below)).filter(|_| below.starts_with('/'))
    })?;
    versions.iter().rev().find_map(|served| {
        let is_requested =
            |endpoint: &Endpoint| has_pattern(served.version.row(*endpoint).path, below);
        let requested = available(served, environment).find(is_requested)?;
        let endpoints = &asked.version.endpoints;
        let own = Some(requested)
            .filter(|endpoint| endpoints.has(*endpoint))
            .or_else(|| endpoints.counterpart(requested));
        let (version, endpoint) = match own {
            Some(endpoint) => (asked.version, endpoint),
            None => (served.version, requested),
        };
        let pattern = served.version.row(requested).path;
        let filled = fill(
            (asked.version, pattern),
            (version, version.row(endpoint).path),
            below,
        );
        Some(version.label.base_path() + &filled)
    })
}

/// Whether the path has the pattern.
fn has_pattern(pattern: &str, path: &str) -> bool {
    let mut segments = pattern.split('/').zip(path.split('/'));
    pattern.split('/').count() == path.split('/').count()
        && segments
            .all(|(name, segment)| name == segment || name.starts_with('{') && !segment.is_empty())
}

/// Replaces the placeholders of the target pattern by the identifiers of a path with the pattern
/// `from`. Both patterns belong to a version, which decides the form of the identifiers.
fn fill(
    (from_version, from): (&ApiVersion, &str),
    (target_version, target): (&ApiVersion, &str),
    path: &str,
) -> String {
    let id = |placeholder: &str, segment| {
        let name = placeholder.strip_prefix('{')?.strip_suffix('}')?;
        let id = identifiers::read(from_version, name, segment)?;
        // An identifier with other characters is not repeated in the reply; its placeholder is.
        id.bytes()
            .all(|byte| byte.is_ascii_alphanumeric())
            .then(|| identifiers::write(target_version, name, &id).into_owned())
    };
    let mut filled = target.to_owned();
    for (placeholder, segment) in from.split('/').zip(path.split('/')) {
        if let Some(id) = id(placeholder, segment) {
            filled = filled.replace(placeholder, &id);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use adapter_kit::form::Prefix;
    use adapter_kit::{Shapes, shape};
    use domain::{Trainee, TraineeField};
    use versions::{SERVED, all};

    use super::*;

    #[test]
    fn endpoint_of_another_version_is_named() {
        let newest = all().newest().unwrap().version;
        let mut named = 0;
        for version in SERVED {
            for other in SERVED {
                for endpoint in other.endpoints.all() {
                    let is_own = |own: Endpoint| own.path() == endpoint.path();
                    if version.endpoints.all().any(is_own) {
                        continue;
                    }
                    named += 1;
                    let fill = |path: &str| path.replace("{trainee_id}", "5x");
                    let expected = match version.endpoints.counterpart(endpoint) {
                        Some(own) => version.label.base_path() + &fill(own.path()),
                        None => newest.label.base_path() + &fill(endpoint.path()),
                    };
                    let path = version.label.base_path() + &fill(endpoint.path());
                    let found = find(&path, all(), Environment::Sandbox);
                    assert_eq!(found, Some(expected), "{path}");
                }
            }
        }
        assert!(named > 0);
    }

    #[test]
    fn path_of_no_endpoint_has_no_counterpart() {
        let base = SERVED[0].label.base_path();
        for path in [
            "/",
            "/favicon.ico",
            "/api/latest/trainees",
            &base,
            &format!("{base}/trainees/"),
            &format!("{base}0/reference-data"),
        ] {
            assert_eq!(find(path, all(), Environment::Sandbox), None, "{path}");
        }
    }

    #[test]
    fn identifiers_are_written_in_the_form_of_the_named_version() {
        const TRAINEE_ID: Prefix = Prefix("trainee_");
        let common = SERVED[0];
        let prefixed = ApiVersion {
            shapes: Shapes {
                trainee: shape! { Trainee, TraineeField: trainee_id as TRAINEE_ID },
                ..common.shapes
            },
            ..*common
        };
        let filled = |from, target, id: &str| {
            let path = format!("/a/{id}/b");
            fill(
                (from, "/a/{trainee_id}/b"),
                (target, "/c/{trainee_id}"),
                &path,
            )
        };
        for (from, target, id, expected) in [
            (common, &prefixed, "5x", "/c/trainee_5x"),
            (&prefixed, common, "trainee_5x", "/c/5x"),
            (&prefixed, common, "5x", "/c/{trainee_id}"),
            (common, common, "x-y", "/c/{trainee_id}"),
        ] {
            assert_eq!(filled(from, target, id), expected, "{id}");
        }
    }
}
