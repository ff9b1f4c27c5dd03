//! When two trainees are the same person on the same training (contract, section 4.8).
//!
//! The rule has a coarse part, which an index and a lock can serve, and a fine part: first names or
//! e-mail address. Both work on folded texts, made here and stored next to the record.

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization as _;

use crate::academic_year;
use crate::trainee::{Trainee, start_date};

/// What the duplicate rule compares of a trainee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// Date of birth.
    pub date_of_birth: Option<NaiveDate>,
    /// Training route.
    pub training_route: Option<String>,
    /// Last name without case.
    pub last_name: String,
    /// Academic year of the start.
    pub academic_cycle: i32,
    /// First names without case, marks, punctuation and other signs. An empty one matches nothing.
    pub first_names: String,
    /// E-mail address without case. An empty one matches nothing.
    pub email: String,
}

impl DuplicateKey {
    /// What the rule compares of the trainee, on that day.
    #[must_use]
    pub fn of(trainee: &Trainee, today: NaiveDate) -> Self {
        Self {
            date_of_birth: trainee.date_of_birth,
            training_route: trainee.training_route.clone(),
            last_name: folded(trainee.last_name.as_deref().unwrap_or_default()),
            academic_cycle: academic_year::of_start(start_date(trainee), today),
            first_names: normal_form(trainee.first_names.as_deref().unwrap_or_default()),
            email: folded(trainee.email.as_deref().unwrap_or_default().trim()),
        }
    }

    /// Whether the two are the same person on the same training.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.date_of_birth == other.date_of_birth
            && self.training_route == other.training_route
            && self.last_name == other.last_name
            && self.academic_cycle == other.academic_cycle
            && ((!self.first_names.is_empty() && self.first_names == other.first_names)
                || (!self.email.is_empty() && self.email == other.email))
    }
}

/// Text without case: going through upper case makes ß and ss, σ and ς equal.
fn folded(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

/// Text without case, combining marks, punctuation and other signs, with single spaces.
fn normal_form(text: &str) -> String {
    let unmarked: String = text.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).collect();
    let kept: String = folded(&unmarked).chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_names_are_compared_without_case_marks_and_signs() {
        for (one, other) in [
            ("Zoë", "zoe"),
            ("O'Neil", "ONEIL"),
            ("Mary-Ann", "Maryann"),
            ("  Ann  Lee ", "ann lee"),
            ("Straße", "STRASSE"),
            ("ΝΊΚΟΣ", "νίκος"),
            ("ﬁona", "Fiona"),
        ] {
            assert_eq!(normal_form(one), normal_form(other), "{one} {other}");
        }
    }

    #[test]
    fn names_in_another_script_keep_their_letters() {
        assert_ne!(normal_form("李"), normal_form("王"));
        assert!(!normal_form("李").is_empty());
    }

    #[test]
    fn an_empty_normal_form_matches_nothing() {
        let trainee = Trainee { first_names: Some("--".to_owned()), ..Trainee::default() };
        let duplicate_key = DuplicateKey::of(&trainee, NaiveDate::default());
        assert!(!duplicate_key.matches(&duplicate_key.clone()));
    }
}
