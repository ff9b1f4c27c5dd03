//! What a client prefers: the header `Prefer` (RFC 7240).

use std::time::Duration;

use actix_web::http::header::HeaderMap;

/// The preference of a client that only wants to know what would be answered.
pub const VALIDATE_ONLY: &str = "validate-only";

/// The preferences that the API knows. Other preferences are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Unknown names are refused (`handling=strict`).
    pub is_strict: bool,
    /// The request is tried out, and changes nothing ([`VALIDATE_ONLY`]).
    pub validates_only: bool,
    /// How long the client wants to wait for changes (`wait=20`), in seconds on the wire.
    pub wait: Option<Duration>,
}

impl Preferences {
    /// Reads the preferences of a request.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let lines: Vec<_> = headers
            .get_all("prefer")
            .map(|line| String::from_utf8_lossy(line.as_bytes()))
            .collect();
        for preference in lines.iter().flat_map(|line| elements(line)) {
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let (name, value) = (name.trim(), unquoted(value.trim()));
            if name.eq_ignore_ascii_case("handling") {
                preferences.is_strict |= value.eq_ignore_ascii_case("strict");
            } else if name.eq_ignore_ascii_case(VALIDATE_ONLY) {
                preferences.validates_only |= value.is_empty();
            } else if name.eq_ignore_ascii_case("wait") {
                preferences.wait = preferences.wait.or(seconds(value));
            }
        }
        // `wait=0` means no wait.
        preferences.wait = preferences.wait.filter(|wait| !wait.is_zero());
        preferences
    }
}

/// The preferences and parameters of a line. Separators in a quoted value do not split it. If the
/// quote is never closed, every separator splits the line.
fn elements(line: &str) -> Vec<&str> {
    const SEPARATORS: [char; 2] = [',', ';'];
    let mut is_quoted = false;
    let mut is_escaped = false;
    // A quote opens a quoted value only at the beginning of a value.
    let mut begins_value = false;
    let separates = |character: char| {
        let after_backslash = std::mem::take(&mut is_escaped);
        match character {
            '\\' => is_escaped = is_quoted && !after_backslash,
            '"' if !after_backslash => is_quoted = begins_value && !is_quoted,
            _ => {}
        }
        begins_value = character == '=' || (begins_value && [' ', '\t'].contains(&character));
        !is_quoted && SEPARATORS.contains(&character)
    };
    let found: Vec<&str> = line.split(separates).collect();
    if is_quoted {
        line.split(SEPARATORS).collect()
    } else {
        found
    }
}

/// The value without the double quotes around it, if it has both.
fn unquoted(value: &str) -> &str {
    value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value)
}

/// The duration for a number of seconds; `None` if the text is not a number.
fn seconds(value: &str) -> Option<Duration> {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // A number too large for `u64` still asks for the longest wait.
    is_number.then(|| Duration::from_secs(value.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn preferences(value: &str) -> Preferences {
        let header = (
            HeaderName::from_static("prefer"),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
        Preferences::from_headers(&[header].into_iter().collect())
    }

    #[test]
    fn a_preference_is_found_among_others_in_any_case() {
        for value in [
            "handling=strict",
            "respond-async, Handling=Strict",
            "wait=10; handling=strict",
            "handling=\"strict\"",
            "handling = strict",
        ] {
            assert!(preferences(value).is_strict, "{value}");
        }
        for value in [
            "handling=lenient",
            "handling",
            "handling=\"strict",
            "strict",
        ] {
            assert!(!preferences(value).is_strict, "{value}");
        }
        assert!(preferences("handling=strict, Validate-Only").validates_only);
        assert!(!preferences("validate-only=no").validates_only);
        assert_eq!(
            Preferences::from_headers(&HeaderMap::new()),
            Preferences::default()
        );
    }

    #[test]
    fn a_quoted_value_hides_nothing_that_stands_beside_it() {
        for value in [
            "validate-only; note=\"é\"",
            "x=\"a, b\", validate-only",
            "x=\"\\\", b\", validate-only",
        ] {
            assert!(preferences(value).validates_only, "{value}");
        }
        for value in ["x=\"a, validate-only, b\"", "x=\"\\\\, validate-only\""] {
            assert!(!preferences(value).validates_only, "{value}");
        }
        assert!(
            preferences("x=\"a, validate-only").validates_only,
            "the quote does not end"
        );
        assert!(
            preferences("x=5\", validate-only, y=6\"").validates_only,
            "no value begins with a quote"
        );
        let header = (
            HeaderName::from_static("prefer"),
            HeaderValue::from_bytes(b"validate-only; note=\xe9").unwrap(),
        );
        assert!(Preferences::from_headers(&[header].into_iter().collect()).validates_only);
    }

    #[test]
    fn a_wait_is_found_among_other_preferences() {
        assert_eq!(
            preferences("handling=strict, Wait = 20").wait,
            Some(Duration::from_secs(20))
        );
        assert_eq!(
            preferences("wait=99999999999999999999999").wait,
            Some(Duration::from_secs(u64::MAX))
        );
        for none in ["wait", "wait=0", "wait=-1", "wait=1.5", "handling=strict"] {
            assert_eq!(preferences(none).wait, None, "{none}");
        }
    }
}
