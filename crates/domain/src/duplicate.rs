//! When two trainees are the same person on the same training (contract, section 4.8).
//!
//! The rule has a coarse part, which an index and a lock can serve, and a fine part: first names or
//! e-mail address. Both work on folded texts, made here and stored next to the record.

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization as _;

use crate::records::trainee::{Trainee, start_date};
use crate::values::academic_year;
use crate::values::text::{case_folded, is_invisible, nfkc_casefold};

/// Characters that are written in place of the apostrophe U+0027: quotation marks and modifier
/// letters.
const APOSTROPHES: [char; 4] = ['\u{2018}', '\u{2019}', '\u{2bb}', '\u{2bc}'];

/// What the duplicate rule compares of a trainee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// Date of birth.
    pub date_of_birth: Option<NaiveDate>,
    /// Training route.
    pub training_route: Option<String>,
    /// Last name in the form `NFKC_Casefold`, with one character for all apostrophes.
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
    pub fn from_trainee(trainee: &Trainee, today: NaiveDate) -> Self {
        Self {
            date_of_birth: trainee.date_of_birth,
            training_route: trainee.training_route.clone(),
            last_name: last_name_key(trainee.last_name.as_deref().unwrap_or_default()),
            academic_cycle: academic_year::training_year(start_date(trainee), today),
            first_names: first_names_key(trainee.first_names.as_deref().unwrap_or_default()),
            email: trainee
                .email
                .as_deref()
                .unwrap_or_default()
                .trim()
                .to_lowercase(),
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

fn last_name_key(text: &str) -> String {
    nfkc_casefold(text).replace(APOSTROPHES, "'")
}

/// First names without case, combining marks, punctuation and other signs, with single spaces.
fn first_names_key(text: &str) -> String {
    let unmarked: String = text
        .nfkd()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .collect();
    // Upper case makes the dotless ı equal to i.
    let folded = case_folded(&unmarked.to_uppercase());
    let is_letter = |c: &char| c.is_alphanumeric() && !is_invisible(*c) && !APOSTROPHES.contains(c);
    let kept: String = folded
        .chars()
        .filter(|c| is_letter(c) || c.is_whitespace())
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::text::tests::characters;

    #[test]
    fn first_names_are_compared_without_case_marks_and_signs() {
        for (one, other) in [
            ("Zoë", "zoe"),
            ("O'Neil", "ONEIL"),
            ("Mary-Ann", "Maryann"),
            ("  Ann  Lee ", "ann lee"),
            ("Straße", "STRASSE"),
            ("ΝΊΚΟΣ", "νίκος"),
            ("ΝΊΚΟΣ-ΑΝΝΑ", "νίκοσαννα"),
            ("ﬁona", "Fiona"),
            ("Zoë", "zoe\u{308}"),
            ("Işıl", "ISIL"),
            ("Ka\u{2bb}iulani", "Kaiulani"),
            ("D\u{2bc}Arcy", "D'ARCY"),
            ("D\u{2019}Arcy", "darcy"),
            ("Ann\u{200b}a", "Anna\u{3164}"),
        ] {
            assert_eq!(
                first_names_key(one),
                first_names_key(other),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn last_names_are_equal_in_each_canonical_spelling_and_with_each_apostrophe() {
        for (one, other) in [
            ("Nuñez", "NUN\u{303}EZ"),
            ("Ｏｋａｆｏｒ", "Okafor"),
            ("Weiß", "WEISS"),
            ("Weiß", "WEIẞ"),
            ("ﬁsher", "Fisher"),
            ("ΠΑΠΠΆΣ", "παππάς"),
            ("İnan", "I\u{307}nan"),
            ("O'Neil", "O\u{2019}NEIL"),
            ("O\u{2018}Neil", "O\u{ff07}Neil"),
            ("Ka\u{2bb}iulani", "Ka\u{2bc}iulani"),
            ("\u{149}Dour", "'nDour"),
            ("Smith\u{200d}", "Smith"),
        ] {
            assert_eq!(last_name_key(one), last_name_key(other), "{one} {other}");
        }
        for (one, other) in [
            ("O'Neil", "ONeil"),
            ("Smith", "Sm_th"),
            ("Smith", "S%"),
            ("Inan", "ınan"),
            ("Nuñez", "Nunez"),
        ] {
            assert_ne!(last_name_key(one), last_name_key(other), "{one} {other}");
        }
    }

    #[test]
    fn keys_of_keys_are_the_same_keys() {
        for character in characters() {
            let text = format!("a{character}\u{301}b");
            let (last_name, first_names) = (last_name_key(&text), first_names_key(&text));
            assert_eq!(last_name_key(&last_name), last_name, "{text:?}");
            assert_eq!(first_names_key(&first_names), first_names, "{text:?}");
        }
    }

    #[test]
    fn names_in_another_script_keep_their_letters() {
        assert_ne!(first_names_key("李"), first_names_key("王"));
        assert!(!first_names_key("李").is_empty());
    }

    #[test]
    fn an_empty_normal_form_matches_nothing() {
        let trainee = Trainee {
            first_names: Some("--".to_owned()),
            ..Trainee::default()
        };
        let duplicate_key = DuplicateKey::from_trainee(&trainee, NaiveDate::default());
        assert!(!duplicate_key.matches(&duplicate_key.clone()));
    }
}
