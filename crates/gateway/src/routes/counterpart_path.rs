//! Finds the path to use instead of a path that only other versions have.
//!
//! Paths follow from the versions and are public, so a client without a token gets the answer too.
//! No record is looked up.

use adapter_kit::{Endpoint, Versions};
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
            |endpoint: &Endpoint| fill(served.version.row(*endpoint).path, below, below).is_some();
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
        let filled = fill(pattern, version.row(endpoint).path, below)?;
        Some(version.label.base_path() + &filled)
    })
}

/// Replaces the placeholders of `target` by the identifiers of a path with the pattern `pattern`.
/// Returns `None` if the path does not have the pattern.
fn fill(pattern: &str, target: &str, path: &str) -> Option<String> {
    if pattern.split('/').count() != path.split('/').count() {
        return None;
    }
    let mut filled = target.to_owned();
    for (name, segment) in pattern.split('/').zip(path.split('/')) {
        let is_identifier = name.starts_with('{') && !segment.is_empty();
        if !is_identifier && name != segment {
            return None;
        }
        // An identifier with other characters is not repeated in the reply; its placeholder is.
        if is_identifier && segment.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            filled = filled.replace(name, segment);
        }
    }
    Some(filled)
}

#[cfg(test)]
mod tests {
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
    fn identifier_with_special_characters_is_not_repeated() {
        assert_eq!(
            fill("/a/{id}/b", "/c/{id}", "/a/x-y/b").as_deref(),
            Some("/c/{id}")
        );
    }
}
