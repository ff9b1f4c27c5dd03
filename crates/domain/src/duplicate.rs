//! Detects registrations of the same person for the same training (contract, section 4.8).
//!
//! The rule compares date of birth, route, last name and academic cycle, which have a database
//! index, and then first names or the e-mail address. Storage keeps the folded texts next to the
//! record.

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization as _;

use crate::records::trainee::{Trainee, start_date};
use crate::values::academic_year;
use crate::values::text::{case_folded, is_invisible, nfkc_casefold};

/// Characters used as an apostrophe instead of U+0027: quotation marks and modifier letters.
const APOSTROPHES: [char; 4] = ['\u{2018}', '\u{2019}', '\u{2bb}', '\u{2bc}'];

/// The values of a trainee that the duplicate rule compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The date of birth.
    pub date_of_birth: Option<NaiveDate>,
    /// The training route.
    pub training_route: Option<String>,
    /// The last name in the form `NFKC_Casefold`, with U+0027 for all apostrophes.
    pub last_name: String,
    /// The academic year of the start.
    pub academic_cycle: i32,
    /// The first names without case, marks, punctuation and other signs. Empty names match nothing.
    pub first_names: String,
    /// The e-mail address in lower case. An empty address matches nothing.
    pub email: String,
}

impl DuplicateKey {
    /// Returns the key of a trainee. `today` decides the academic cycle if the start is missing.
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

    /// Whether both keys are of the same person on the same training.
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

/// Returns first names without case, combining marks, punctuation and other signs, with single
/// spaces.
fn first_names_key(text: &str) -> String {
    let unmarked: String = text
        .nfkd()
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .collect();
    // Upper case makes the dotless ı equal to i.
    let folded = case_folded(&unmarked.to_uppercase());
    let kept: String = folded
        .chars()
        .filter(|character| is_letter_or_digit(*character) || character.is_whitespace())
        .collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_letter_or_digit(character: char) -> bool {
    character.is_alphanumeric() && !is_invisible(character) && !APOSTROPHES.contains(&character)
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
    fn last_names_are_equal_in_canonical_spellings_with_any_apostrophe() {
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
    fn key_of_a_key_is_the_same_key() {
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
    fn empty_first_names_key_matches_nothing() {
        let trainee = Trainee {
            first_names: Some("--".to_owned()),
            ..Trainee::default()
        };
        let duplicate_key = DuplicateKey::from_trainee(&trainee, NaiveDate::default());
        assert!(!duplicate_key.matches(&duplicate_key.clone()));
    }
}
