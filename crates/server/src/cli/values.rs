//! Reads the values of options, and says in words of the command line what is wrong with one.

use std::fmt::Display;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use chrono::NaiveDate;
use domain::records::organisations::is_ukprn;
use domain::values::iso_8601::read_date;
use openidconnect::url::Url;
use storage::identifiers::IDENTIFIER_LENGTH;
use storage::records::history::Month;

/// A date.
pub(super) fn date(text: &str) -> Result<NaiveDate, String> {
    read_date(text).ok_or_else(|| {
        absent(
            text,
            "dddd-dd-dd",
            "there is no such day",
            "a date has the form YYYY-MM-DD",
        )
    })
}

/// A month.
pub(super) fn month(text: &str) -> Result<Month, String> {
    text.parse().map_err(|_| {
        absent(
            text,
            "dddd-dd",
            "there is no such month",
            "a month has the form YYYY-MM",
        )
    })
}

/// What is wrong with a text that names nothing of the calendar. Each `d` of the form stands for a
/// digit.
fn absent(text: &str, form: &str, absent: &str, malformed: &str) -> String {
    let matches = |(character, form): (char, char)| match form {
        'd' => character.is_ascii_digit(),
        _ => character == form,
    };
    let has_form = text.len() == form.len() && text.chars().zip(form.chars()).all(matches);
    if has_form { absent } else { malformed }.to_owned()
}

/// The UKPRN of a provider.
pub(super) fn ukprn(text: &str) -> Result<String, String> {
    is_ukprn(text)
        .then(|| text.to_owned())
        .ok_or_else(|| "a UKPRN has 8 digits".to_owned())
}

/// The identifier of a trainee.
pub(super) fn trainee_id(text: &str) -> Result<String, String> {
    let has_length = text.chars().count() == IDENTIFIER_LENGTH;
    has_length
        .then(|| text.to_owned())
        .ok_or_else(|| format!("an identifier has {IDENTIFIER_LENGTH} characters"))
}

/// A whole number, which may be 0.
pub(super) fn whole<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    number(text, "must be a whole number from 0")
}

/// A whole number that is not 0.
pub(super) fn positive<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    number(text, "must be a whole number from 1")
}

/// The number of a stored row, as a list shows it.
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

/// A whole number from the first to the last one.
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

/// The address of a site, to which the path of a page is appended.
pub(super) fn site(text: &str) -> Result<String, String> {
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
        "must be a scheme and a host, with a port at most, such as https://register.example"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn date_of_the_right_form_that_does_not_exist_is_reported_as_such() {
        assert_eq!(
            date("2026-02-28").map(|date| date.to_string()).as_deref(),
            Ok("2026-02-28")
        );
        for text in ["2026-02-30", "2026-13-01", "2026-00-10"] {
            assert_eq!(date(text).unwrap_err(), "there is no such day", "{text}");
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
                "a date has the form YYYY-MM-DD",
                "{text}"
            );
        }
        assert_eq!(
            month("2026-12").map(|month| month.to_string()).as_deref(),
            Ok("2026-12")
        );
        assert_eq!(month("2026-13").unwrap_err(), "there is no such month");
        assert_eq!(month("2026-1").unwrap_err(), "a month has the form YYYY-MM");
    }

    #[test]
    fn text_that_is_no_number_is_refused_with_the_numbers_that_are_accepted() {
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
    fn identifier_of_another_length_is_refused_with_its_length() {
        assert_eq!(ukprn("10000001").as_deref(), Ok("10000001"));
        for text in ["", "1000001", "100000001", "1000000a", "１０００"] {
            assert_eq!(ukprn(text).unwrap_err(), "a UKPRN has 8 digits", "{text}");
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
                "an identifier has 24 characters",
                "{text}"
            );
        }
    }

    #[test]
    fn site_is_a_scheme_and_a_host_with_a_port_at_most() {
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
