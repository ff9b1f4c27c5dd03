//! The teacher reference number (TRN), and the people who have it.
//!
//! A number belongs to one person. A person can have several records: one for each course and for
//! each provider. All records of a person may have the same number.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::duplicate::DuplicateKey;
use crate::fields::value::Date;

/// The number of digits in a teacher reference number.
const DIGITS: usize = 7;

/// A teacher reference number: 7 digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Trn(String);

/// A text that is not a teacher reference number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("trn must be 7 digits")]
pub struct MalformedTrn;

impl Trn {
    /// The range of generated numbers. Excludes numbers with a leading zero, because spreadsheets
    /// drop the zero.
    pub const GENERATED: std::ops::Range<u32> = 1_000_000..10_000_000;

    /// Returns the digits.
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

/// A trainee with a number: the data to identify the person. The names are folded like those of
/// [`DuplicateKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The identifier of the record.
    pub trainee_id: String,
    /// The date of birth.
    pub date_of_birth: Option<Date>,
    /// The last name.
    pub last_name: String,
    /// The first names.
    pub first_names: String,
}

impl Holder {
    /// Whether both can be the same person: same date of birth, and the same last name or the same
    /// first names. A person may change one of the names.
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
    fn trn_has_seven_digits() {
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
    fn same_person_has_birth_date_and_name() {
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
