//! The teacher reference number (TRN), and whose it is.
//!
//! A number belongs to a person, and a person may have several records: one for each course, and
//! one with each provider. So several records may have the same number, as long as they are of one
//! person.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::duplicate::DuplicateKey;
use crate::fields::value::Date;

/// Digits of a teacher reference number.
const DIGITS: usize = 7;

/// A teacher reference number: 7 digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Trn(String);

/// A text that is no teacher reference number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("trn must be 7 digits")]
pub struct MalformedTrn;

impl Trn {
    /// The range of generated numbers: those without a leading zero, which spreadsheets lose.
    pub const GENERATED: std::ops::Range<u32> = 1_000_000..10_000_000;

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Trn {
    type Err = MalformedTrn;

    fn from_str(text: &str) -> Result<Self, MalformedTrn> {
        let is_trn = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_trn {
            Ok(Self(text.to_owned()))
        } else {
            Err(MalformedTrn)
        }
    }
}

impl fmt::Display for Trn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A trainee who has a number, as far as it distinguishes people. The names are folded, as in
/// [`DuplicateKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Identifier of the record.
    pub trainee_id: String,
    /// Date of birth.
    pub date_of_birth: Option<Date>,
    /// Last name.
    pub last_name: String,
    /// First names.
    pub first_names: String,
}

impl Holder {
    /// Whether the holder can be the same person: born on the same day, with the same last name or
    /// the same first names. Either may change in a life.
    #[must_use]
    pub fn can_be_same_person(&self, other: &DuplicateKey) -> bool {
        let same_first_names =
            !self.first_names.is_empty() && self.first_names == other.first_names;
        self.date_of_birth == other.date_of_birth
            && (self.last_name == other.last_name || same_first_names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::trainee::Trainee;

    #[test]
    fn a_trn_has_seven_digits() {
        assert_eq!("0123456".parse::<Trn>().unwrap().to_string(), "0123456");
        for text in [
            "",
            "123456",
            "12345678",
            "12345a7",
            " 1234567",
            "１２３４５６７",
        ] {
            assert_eq!(text.parse::<Trn>(), Err(MalformedTrn), "{text}");
        }
        assert!(Trn::GENERATED.start.to_string().parse::<Trn>().is_ok());
        assert!((Trn::GENERATED.end - 1).to_string().parse::<Trn>().is_ok());
    }

    #[test]
    fn people_are_distinguished_by_birth_and_names() {
        let born = |day: &str, first_names: &str, last_name: &str| {
            let trainee = Trainee {
                date_of_birth: day.parse().ok(),
                first_names: Some(first_names.to_owned()),
                last_name: Some(last_name.to_owned()),
                ..Trainee::default()
            };
            DuplicateKey::from_trainee(&trainee, Date::default())
        };
        let known = born("1999-04-12", "Ayo", "Okafor");
        let holder = Holder {
            trainee_id: "one".to_owned(),
            date_of_birth: known.date_of_birth,
            last_name: known.last_name,
            first_names: known.first_names,
        };
        assert!(holder.can_be_same_person(&born("1999-04-12", "Ayo", "Smith")));
        assert!(holder.can_be_same_person(&born("1999-04-12", "Ayo B.", "OKAFOR")));
        assert!(!holder.can_be_same_person(&born("1999-04-12", "Bea", "Smith")));
        assert!(!holder.can_be_same_person(&born("1999-04-13", "Ayo", "Okafor")));
    }
}
