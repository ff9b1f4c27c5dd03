//! Parsers of option values, with messages for the command line.

use std::fmt::Display;
use std::fs;
use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;
use std::str::FromStr;

use chrono::NaiveDate;
use domain::records::organisations::is_ukprn;
use domain::values::iso_8601::read_date;
use openidconnect::url::Url;
use storage::identifiers::IDENTIFIER_LENGTH;
use storage::records::history::Month;

/// Parses a date.
pub(super) fn date(text: &str) -> Result<NaiveDate, String> {
    read_date(text).ok_or_else(|| {
        absent(
            text,
            "dddd-dd-dd",
            "the date does not exist",
            "must have the form YYYY-MM-DD",
        )
    })
}

/// Parses a month.
pub(super) fn month(text: &str) -> Result<Month, String> {
    text.parse().map_err(|_| {
        absent(
            text,
            "dddd-dd",
            "the month does not exist",
            "must have the form YYYY-MM",
        )
    })
}

/// The message for a text that is not a date or month: `absent` if the text has the form, else
/// `malformed`. In `form`, each `d` stands for a digit.
fn absent(text: &str, form: &str, absent: &str, malformed: &str) -> String {
    let matches = |(character, expected): (char, char)| match expected {
        'd' => character.is_ascii_digit(),
        _ => character == expected,
    };
    let has_form = text.len() == form.len() && text.chars().zip(form.chars()).all(matches);
    if has_form { absent } else { malformed }.to_owned()
}

/// Parses the UKPRN of a provider.
pub(super) fn ukprn(text: &str) -> Result<String, String> {
    is_ukprn(text)
        .then(|| text.to_owned())
        .ok_or_else(|| "must be 8 digits".to_owned())
}

/// Parses the identifier of a trainee.
pub(super) fn trainee_id(text: &str) -> Result<String, String> {
    let has_length = text.chars().count() == IDENTIFIER_LENGTH;
    has_length
        .then(|| text.to_owned())
        .ok_or_else(|| format!("must be {IDENTIFIER_LENGTH} characters"))
}

/// Parses a whole number, 0 included.
pub(super) fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    number(text, "must be a whole number from 0")
}

/// Parses a whole number except 0.
pub(super) fn positive<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    number(text, "must be a whole number from 1")
}

/// Parses the number of a stored row: a whole number from 1.
pub(super) fn id(text: &str) -> Result<i64, String> {
    const EXPECTED: &str = "must be a whole number from 1";
    number(text, EXPECTED).and_then(|id| {
        if id > 0 {
            Ok(id)
        } else {
            Err(EXPECTED.to_owned())
        }
    })
}

/// A parser of whole numbers from `first` to `last`.
pub(super) fn between<N>(
    first: N,
    last: N,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr<Err = ParseIntError> + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text
            .parse()
            .ok()
            .filter(|number| (first..=last).contains(number));
        number.ok_or_else(|| format!("must be a whole number from {first} to {last}"))
    }
}

/// Parses a number. The error is `expected`, or says that the number is too large.
fn number<N: FromStr<Err = ParseIntError>>(text: &str, expected: &str) -> Result<N, String> {
    text.parse().map_err(|error: ParseIntError| {
        if *error.kind() == IntErrorKind::PosOverflow {
            "is too large"
        } else {
            expected
        }
        .to_owned()
    })
}

/// Reads a secret from a file, without surrounding white space. `Err` is the reason why the file is
/// not usable: unreadable or empty.
pub(super) fn secret_file(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("the file is empty".to_owned()),
        secret => Ok(secret.to_owned()),
    }
}

/// Parses the address of a site, without a path.
pub(super) fn site(text: &str) -> Result<String, String> {
    // The site becomes the prefix of links, so it must have only a scheme, a host and a port.
    let url = Url::parse(text).ok().filter(|url| {
        ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let site = url.map(|url| url.origin().ascii_serialization());
    site.ok_or_else(|| {
        "must be a scheme and a host, optionally with a port, such as https://register.example"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn well_formed_nonexistent_date_is_reported() {
        assert_eq!(
            date("2026-02-28").map(|date| date.to_string()).as_deref(),
            Ok("2026-02-28")
        );
        for text in ["2026-02-30", "2026-13-01", "2026-00-10"] {
            assert_eq!(date(text).unwrap_err(), "the date does not exist", "{text}");
        }
        for text in [
            "",
            "2026-2-3",
            "30.02.2026",
            "2026-02-30T00:00",
            "２026-2-3",
        ] {
            assert_eq!(
                date(text).unwrap_err(),
                "must have the form YYYY-MM-DD",
                "{text}"
            );
        }
        assert_eq!(
            month("2026-12").map(|month| month.to_string()).as_deref(),
            Ok("2026-12")
        );
        assert_eq!(month("2026-13").unwrap_err(), "the month does not exist");
        assert_eq!(month("2026-1").unwrap_err(), "must have the form YYYY-MM");
    }

    #[test]
    fn text_without_number_is_refused_with_range() {
        assert_eq!(positive::<NonZeroU32>("7").map(NonZeroU32::get), Ok(7));
        for text in ["0", "-1", "abc", "", "1.5"] {
            assert_eq!(
                positive::<NonZeroU32>(text).unwrap_err(),
                "must be a whole number from 1",
                "{text}"
            );
            assert_eq!(
                id(text).unwrap_err(),
                "must be a whole number from 1",
                "{text}"
            );
        }
        assert_eq!(whole::<u32>("0"), Ok(0));
        assert_eq!(
            whole::<u32>("-1").unwrap_err(),
            "must be a whole number from 0"
        );
        assert_eq!(whole::<u32>("4294967296").unwrap_err(), "is too large");
        let percent = between::<u8>(0, 100);
        assert_eq!(percent("100"), Ok(100));
        for text in ["101", "256", "-1", "x"] {
            assert_eq!(
                percent(text).unwrap_err(),
                "must be a whole number from 0 to 100",
                "{text}"
            );
        }
    }

    #[test]
    fn identifier_of_another_length_is_refused() {
        assert_eq!(ukprn("10000001").as_deref(), Ok("10000001"));
        for text in ["", "1000001", "100000001", "1000000a", "１０００"] {
            assert_eq!(ukprn(text).unwrap_err(), "must be 8 digits", "{text}");
        }
        let sound = "3xampleTra1neeWh1sNotTh1";
        assert_eq!(trainee_id(sound).as_deref(), Ok(sound));
        for text in [
            "",
            "none",
            "3xampleTra1neeWh1sNotTh",
            "3xampleTra1neeWh1sNotTh12",
        ] {
            assert_eq!(
                trainee_id(text).unwrap_err(),
                "must be 24 characters",
                "{text}"
            );
        }
    }

    #[test]
    fn site_is_scheme_host_and_optional_port() {
        for (text, expected) in [
            ("https://register.example", "https://register.example"),
            ("https://register.example/", "https://register.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ] {
            assert_eq!(site(text).as_deref(), Ok(expected));
        }
        for text in [
            "",
            "register.example",
            "register.example:8443",
            "ftp://register.example",
            "https://",
            "https://register.example/settings",
            "https://register.example/?y=z",
            "https://register.example#settings",
            "https://me:secret@register.example",
        ] {
            assert!(site(text).is_err(), "{text}");
        }
    }
}
