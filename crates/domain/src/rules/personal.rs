//! Personal details: age, e-mail address and identifiers.

use crate::fields::field::Field;
use crate::problem::ProblemKind;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::{Trainee, TraineeField as F};
use crate::rules::{Findings, Run, found_if};
use crate::values::academic_year::years_before;

/// The minimum age of a trainee, in years.
const MIN_AGE_YEARS: u32 = 16;
/// The maximum age of a trainee, in years.
const MAX_AGE_YEARS: u32 = 100;
/// The allowed lengths of an agency identifier, in characters.
const AGENCY_ID_LENGTHS: &[usize] = &[13, 17];
/// The maximum number of digits in an application identifier.
const APPLICATION_ID_DIGITS: usize = 7;

rules! { Trainee:
    BORN("2.1") = "date_of_birth_not_in_future": "is not later than today", [F::date_of_birth] => Run::Check(born);
    OLD_ENOUGH("2.1") = "date_of_birth_old_enough": "is at least 16 years ago",
        [F::date_of_birth] => Run::Check(old_enough);
    NOT_TOO_OLD("2.1") = "date_of_birth_not_too_old": "is not more than 100 years ago",
        [F::date_of_birth] => Run::Check(not_too_old);
    EMAIL("2.1") = "email_form": "has the form of an e-mail address", [F::email] => Run::Check(email);
    AGENCY_ID("2.1") = "agency_id_length": "has exactly 13 or exactly 17 characters",
        [F::agency_id] => Run::Check(agency_id);
    APPLICATION_ID("2.1") = "application_id_digits": "consists of at most 7 digits",
        [F::application_id] => Run::Check(application_id);
}

/// Reports a date of birth in the future.
fn born(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let late = candidate
        .record
        .date_of_birth
        .is_some_and(|day| day > context.today);
    found_if(late, F::date_of_birth, || ProblemKind::InFuture)
}

/// Reports a trainee below the minimum age.
fn old_enough(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let latest = years_before(context.today, MIN_AGE_YEARS);
    let young = candidate
        .record
        .date_of_birth
        .is_some_and(|day| day > latest);
    found_if(young, F::date_of_birth, || ProblemKind::TooYoung {
        years: MIN_AGE_YEARS,
    })
}

/// Reports a trainee above the maximum age.
fn not_too_old(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let earliest = years_before(context.today, MAX_AGE_YEARS);
    let old = candidate
        .record
        .date_of_birth
        .is_some_and(|day| day < earliest);
    found_if(old, F::date_of_birth, || ProblemKind::TooOld {
        years: MAX_AGE_YEARS,
    })
}

/// Reports a text that is not an e-mail address.
fn email(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let wrong = candidate
        .record
        .email
        .as_deref()
        .is_some_and(|email| !is_email(email));
    found_if(wrong, F::email, || ProblemKind::NotEmail)
}

/// Returns the allowed lengths of a field, in characters. Returns `None` for a field without
/// allowed lengths; such a field can still have a maximum length.
#[must_use]
pub fn exact_lengths(field: Field) -> Option<&'static [usize]> {
    (field == F::agency_id.into()).then_some(AGENCY_ID_LENGTHS)
}

/// Reports an agency identifier whose length is not allowed.
fn agency_id(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let wrong = candidate
        .record
        .agency_id
        .as_deref()
        .is_some_and(|id| !AGENCY_ID_LENGTHS.contains(&id.chars().count()));
    found_if(wrong, F::agency_id, || ProblemKind::WrongLength {
        lengths: AGENCY_ID_LENGTHS,
    })
}

/// Reports an application identifier with too many characters, or with characters other than
/// digits.
fn application_id(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let wrong = candidate
        .record
        .application_id
        .as_deref()
        .is_some_and(|id| {
            id.len() > APPLICATION_ID_DIGITS || !id.bytes().all(|byte| byte.is_ascii_digit())
        });
    found_if(wrong, F::application_id, || ProblemKind::NotDigits {
        max: APPLICATION_ID_DIGITS,
    })
}

/// Whether the text has the form of an e-mail address: a local part of common characters, one at
/// sign, a host of at least two parts that ends in letters, and no two adjacent dots.
pub fn is_email(text: &str) -> bool {
    // The maximum length of a host name in DNS.
    const MAX_HOST_LENGTH: usize = 253;
    let Some((local, host)) = text.split_once('@') else {
        return false;
    };
    let parts: Vec<&str> = host.split('.').collect();
    let Some(last) = parts.last() else {
        return false;
    };
    !local.is_empty()
        && local.chars().all(is_local_character)
        && !text.contains("..")
        && parts.len() >= 2
        && host.len() <= MAX_HOST_LENGTH
        && parts.iter().all(|part| is_host_part(part))
        && (last.starts_with("xn--")
            || (last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic())))
}

/// Whether the local part of an e-mail address may have the character.
fn is_local_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || ".!#$%&'*+/=?^_{}~-|`".contains(character)
}

/// Whether the text is a part of a host name: 1 to 63 letters, digits and inner hyphens. Two
/// adjacent hyphens are allowed only in an encoded name (`xn--`).
fn is_host_part(part: &str) -> bool {
    (1..=63).contains(&part.len())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !part.starts_with('-')
        && !part.ends_with('-')
        && (part.starts_with("xn-") || !part.contains("--"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::Change;
    use crate::records::trainee::TraineeChanges;
    use crate::rules::testing::{TODAY, apply};

    #[test]
    fn birth_today_is_not_in_future() {
        let born = |day| TraineeChanges {
            date_of_birth: Change::Set(day),
            ..TraineeChanges::default()
        };
        let kind = |day| {
            apply((), None, born(day), &[BORN, OLD_ENOUGH])
                .problems()
                .first()
                .map(|p| p.kind.clone())
        };
        assert_eq!(
            kind(TODAY),
            Some(ProblemKind::TooYoung {
                years: MIN_AGE_YEARS
            })
        );
        assert_eq!(kind(TODAY.succ_opt().unwrap()), Some(ProblemKind::InFuture));
    }

    #[test]
    fn common_addresses_are_accepted() {
        let long = format!("a@{}.{}.uk", "b".repeat(63), "c".repeat(63));
        let host = format!("a@{}bcd", "b.".repeat(125));
        for email in [
            "trainee@example.com",
            "o'neil+ite@mail.school.org.uk",
            "a|b`c@x-y.io",
            "a@xn--bcher-kva.example",
            "a@example.xn--p1ai",
            long.as_str(),
            host.as_str(),
            ".a@b.uk",
            "a.@b.uk",
        ] {
            assert!(is_email(email), "{email}");
        }
    }

    #[test]
    fn malformed_addresses_are_rejected() {
        let long = format!("a@{}.uk", "b".repeat(64));
        let host = format!("a@{}uk", "b.".repeat(126));
        for email in [
            "",
            "trainee",
            "@example.com",
            "a@",
            "a@example",
            "a@@example.com",
            "a@b@example.com",
            "a b@example.com",
            "a..b@example.com",
            "a@example..com",
            "a@-b.uk",
            "a@b-.uk",
            "a@b--c.uk",
            "a@b.c",
            "a@b.c1",
            "a@b.uk.",
            "zoë@example.com",
            "a\"b@example.com",
            "a@exa_mple.com",
            long.as_str(),
            host.as_str(),
        ] {
            assert!(!is_email(email), "{email}");
        }
    }
}
