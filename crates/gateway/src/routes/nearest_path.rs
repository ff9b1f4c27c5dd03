//! Suggests an existing path to a client that requested a path that does not exist. The requested
//! path may have a slash too many, lack its version, or have a spelling mistake.
//!
//! Paths follow from the versions and are public, so a client without a token gets the suggestion
//! too. No record is looked up.

use adapter_kit::read::nearest;
use adapter_kit::{Endpoint, Served, Versions};
use http_kit::paths::{self, OpenApiDocument};
use storage::base::token::Environment;

use crate::endpoints::available;

/// The maximum length of a path that is compared, in bytes.
const MAX_BYTES: usize = 256;
/// The first segment of the paths of the API.
const API: &str = "api";

/// The existing path that resembles `path` most; `None` if no path does.
#[must_use]
pub(super) fn find(path: &str, versions: &Versions, environment: Environment) -> Option<String> {
    if path.len() > MAX_BYTES {
        return None;
    }
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let (first, after_first) = segments.split_first()?;
    let in_api = resembles(first, API);
    let segments = if in_api { after_first } else { &segments };
    let version = segments
        .first()
        .and_then(|segment| version_like(segment, versions));
    let below = if version.is_some() {
        segments.get(1..).unwrap_or_default()
    } else {
        segments
    };
    let found = match version {
        Some(served) if below.is_empty() => {
            Some(served.version.label.base_path() + Endpoint::Info.path())
        }
        Some(served) => below_version(below, served, environment)
            .or_else(|| in_another_version(below, versions, environment)),
        None => page(below, in_api).or_else(|| {
            versions
                .newest()
                .and_then(|newest| below_version(below, newest, environment))
        }),
    };
    found.filter(|found| found != path)
}

/// The path of the list of versions or of the documents, if the segments resemble it.
fn page(segments: &[&str], in_api: bool) -> Option<String> {
    let (_, versions) = paths::VERSIONS.rsplit_once('/')?;
    match segments {
        [] if in_api => Some(paths::VERSIONS.to_owned()),
        [only] if in_api && resembles(only, versions) => Some(paths::VERSIONS.to_owned()),
        [only] if !in_api && resembles(only, paths::DOCS.trim_start_matches('/')) => {
            Some(paths::DOCS.to_owned())
        }
        _ => None,
    }
}

/// The version that a segment means: the one with this label, otherwise the newest one whose label
/// begins with the segment, otherwise the one whose label resembles it most.
fn version_like<'a>(segment: &str, versions: &'a Versions) -> Option<&'a Served> {
    let written = format!("v{}", version_number(segment)?.to_ascii_lowercase());
    let labels: Vec<(String, &Served)> = versions
        .iter()
        .rev()
        .map(|served| (served.version.label.to_string(), served))
        .collect();
    let begins = || {
        labels
            .iter()
            .find(|(label, _)| label.starts_with(&format!("{written}.")))
    };
    let found = labels
        .iter()
        .find(|(label, _)| *label == written)
        .or_else(begins)
        .or_else(|| {
            let nearest = nearest(&written, labels.iter().map(|(label, _)| label.as_str()))?;
            labels.iter().find(|(label, _)| label == nearest)
        });
    found.map(|(_, served)| *served)
}

/// The number in a segment that may be a version's label, without `v`; `None` if the segment does
/// not begin with a digit.
pub(super) fn version_number(segment: &str) -> Option<&str> {
    Some(segment.trim_start_matches(['v', 'V']))
        .filter(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

/// The path of the version that resembles these segments most, which are below the version's path.
fn below_version(segments: &[&str], served: &Served, environment: Environment) -> Option<String> {
    let documents = OpenApiDocument::ALL.map(OpenApiDocument::path);
    let paths = available(served, environment)
        .map(Endpoint::path)
        .chain(documents);
    let found = paths
        .filter_map(|path| filled(path, segments))
        .min_by_key(|(slips, _)| *slips);
    found.map(|(_, path)| served.version.label.base_path() + &path)
}

/// The path in the newest version that has a path with exactly these segments.
fn in_another_version(
    segments: &[&str],
    versions: &Versions,
    environment: Environment,
) -> Option<String> {
    let in_version = |served: &Served| {
        let mut paths =
            available(served, environment).filter_map(|endpoint| filled(endpoint.path(), segments));
        let (_, path) = paths.find(|(slips, _)| *slips == 0)?;
        Some(served.version.label.base_path() + &path)
    };
    versions.iter().rev().find_map(in_version)
}

/// Fills the identifiers of these segments into the pattern of a path. Also returns the number of
/// other segments that differ from the pattern; `None` if one of them does not resemble it.
fn filled(path: &str, segments: &[&str]) -> Option<(usize, String)> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    if names.len() != segments.len() {
        return None;
    }
    let mut slips = 0;
    let mut filled = String::new();
    for (name, segment) in names.into_iter().zip(segments) {
        let is_identifier = name.starts_with('{');
        if !is_identifier && !resembles(segment, name) {
            return None;
        }
        slips += usize::from(!is_identifier && *segment != name);
        // An identifier with other characters is not repeated in the reply; its placeholder is.
        let is_shown = is_identifier && segment.bytes().all(|byte| byte.is_ascii_alphanumeric());
        filled.push('/');
        filled.push_str(if is_shown { segment } else { name });
    }
    Some((slips, filled))
}

/// Whether a segment is this name, ignoring case and small spelling mistakes.
fn resembles(segment: &str, name: &str) -> bool {
    nearest(&segment.to_ascii_lowercase(), [name].into_iter()).is_some()
}

#[cfg(test)]
mod tests {
    use versions::{SERVED, all};

    use super::*;

    /// Like [`super::find`], in a sandbox.
    fn find_in_sandbox(path: &str, versions: &Versions) -> Option<String> {
        super::find(path, versions, Environment::Sandbox)
    }

    #[test]
    fn a_path_that_is_almost_one_leads_to_it() {
        let newest = all().newest().unwrap().version.label;
        let oldest = SERVED[0].label;
        let base = newest.base_path();
        let year = newest.year;
        for (path, meant) in [
            (format!("{base}/trainees/"), format!("{base}/trainees")),
            (format!("{base}//trainees"), format!("{base}/trainees")),
            (format!("{base}/Trainee"), format!("{base}/trainees")),
            (
                format!("{base}/trainees/5x/placement"),
                format!("{base}/trainees/5x/placements"),
            ),
            (
                format!("{base}/trainees/a-b/withdrawal"),
                format!("{base}/trainees/{{trainee_id}}/withdraw"),
            ),
            (format!("{base}/openapi"), String::new()),
            (
                format!("{base}/openapi.jsn"),
                format!("{base}/openapi.json"),
            ),
            (base.clone(), format!("{base}/info")),
            (format!("{base}/"), format!("{base}/info")),
            (format!("/api/v{year}"), format!("{base}/info")),
            (format!("/api/{year}/trainees"), format!("{base}/trainees")),
            (format!("/{newest}/trainees"), format!("{base}/trainees")),
            (
                format!("/api/{oldest}/inf"),
                format!("{}/info", oldest.base_path()),
            ),
            ("/trainees/".to_owned(), format!("{base}/trainees")),
            ("/api/trainees".to_owned(), format!("{base}/trainees")),
            ("/api".to_owned(), paths::VERSIONS.to_owned()),
            ("/api/version".to_owned(), paths::VERSIONS.to_owned()),
            ("/doc".to_owned(), paths::DOCS.to_owned()),
        ] {
            assert_eq!(
                find_in_sandbox(&path, all()).unwrap_or_default(),
                meant,
                "{path}"
            );
        }
    }

    #[test]
    fn an_endpoint_of_another_version_is_named_there() {
        let newest = all().newest().unwrap().version;
        for version in SERVED {
            for endpoint in newest.endpoints.all() {
                if version
                    .endpoints
                    .all()
                    .any(|own| own.path() == endpoint.path())
                {
                    continue;
                }
                let below = endpoint.path().replace("{trainee_id}", "5x");
                let found = find_in_sandbox(&(version.label.base_path() + &below), all());
                assert_eq!(found, Some(newest.label.base_path() + &below));
            }
        }
    }

    #[test]
    fn what_only_a_sandbox_has_is_not_named_in_production() {
        for served in all().iter() {
            let base = served.version.label.base_path();
            let path = format!("{base}/sandbox/rest");
            assert_eq!(
                find_in_sandbox(&path, all()),
                Some(format!("{base}/sandbox/reset"))
            );
            assert_eq!(super::find(&path, all(), Environment::Production), None);
        }
    }

    #[test]
    fn what_resembles_nothing_leads_nowhere() {
        for path in [
            "/",
            "/favicon.ico",
            "/api/latest/trainees",
            "/wp-login.php",
            "/api/v1999.7/anything",
            "/%00/%ff",
        ] {
            assert_eq!(find_in_sandbox(path, all()), None, "{path}");
        }
        assert_eq!(
            find_in_sandbox(&format!("/api/{}", "trainees/".repeat(100)), all()),
            None
        );
    }
}
