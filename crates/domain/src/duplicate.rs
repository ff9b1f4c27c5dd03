//! Detects registrations of the same person for the same training (contract, section 4.8).
//!
//! The rule compares date of birth, route, last name and academic cycle, which have a database
//! index, and then first names or the e-mail address. Storage keeps the folded texts next to the
//! record.

use chrono::NaiveDate;
use unicode_normalization::UnicodeNormalization as _;

use crate::records::record::Stored;
use crate::records::trainee::{Trainee, TraineeField, start_date, start_date_field};
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
    pub fn from_trainee(trainee: &dyn Stored<Trainee>, today: NaiveDate) -> Self {
        let text = |field| trainee.text(field).unwrap_or_default();
        Self {
            date_of_birth: trainee.get(TraineeField::date_of_birth),
            training_route: trainee.get(TraineeField::training_route),
            last_name: last_name_key(&text(TraineeField::last_name)),
            academic_cycle: academic_year::training_year(start_date(trainee), today),
            first_names: first_names_key(&text(TraineeField::first_names)),
            email: text(TraineeField::email).trim().to_lowercase(),
        }
    }

    /// Whether both keys are of the same person on the same training.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.date_of_birth == other.date_of_birth
            && self.training_route == other.training_route
            && self.last_name == other.last_name
            && self.academic_cycle == other.academic_cycle
            && (self.has_first_names_of(other) || self.has_email_of(other))
    }

    fn has_first_names_of(&self, other: &Self) -> bool {
        !self.first_names.is_empty() && self.first_names == other.first_names
    }

    fn has_email_of(&self, other: &Self) -> bool {
        !self.email.is_empty() && self.email == other.email
    }
}

/// Returns the fields of a trainee that match an existing trainee: date of birth, route, last name
/// and start always do, first names and e-mail address if they match any of the existing ones.
/// `existing` must be duplicates of the trainee.
#[must_use]
pub fn matched_fields<'a>(
    trainee: &Trainee,
    existing: impl IntoIterator<Item = &'a dyn Stored<Trainee>>,
    today: NaiveDate,
) -> Vec<TraineeField> {
    let key = DuplicateKey::from_trainee(trainee, today);
    let existing: Vec<_> = existing
        .into_iter()
        .map(|one| DuplicateKey::from_trainee(one, today))
        .collect();
    let mut fields = Vec::new();
    if existing.iter().any(|one| key.has_first_names_of(one)) {
        fields.push(TraineeField::first_names);
    }
    fields.extend([TraineeField::last_name, TraineeField::date_of_birth]);
    if existing.iter().any(|one| key.has_email_of(one)) {
        fields.push(TraineeField::email);
    }
    fields.push(TraineeField::training_route);
    fields.extend(start_date_field(trainee));
    fields
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
    fn first_names_are_compared_without_marks() {
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
    fn last_names_are_equal_in_canonical_spellings() {
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
    fn key_of_key_is_the_same() {
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
