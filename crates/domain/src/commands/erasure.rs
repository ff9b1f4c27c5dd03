//! The erasure of a person from the register.
//!
//! An erased record becomes a tombstone: a discarded record with its identifier and its provider,
//! but without any data about the person. The tombstone informs clients that follow the changes,
//! and reserves the identifier.

use crate::fields::value::{Timestamp, Value};
use crate::fields::vocabulary::FROM_API;
use crate::lifecycle::State;
use crate::records::record::Stored;
use crate::records::trainee::{Trainee, TraineeField};
use crate::values::text::{nfkc_casefold, visible_line};

/// The maximum length of the ground of an erasure, in characters.
pub const MAX_GROUND_CHARS: usize = 500;

/// The minimum length of an identifying value, in characters. Shorter values occur in too many
/// texts.
const MIN_IDENTIFYING_CHARS: usize = 3;

/// The fields whose value can identify a person by itself.
pub const IDENTIFYING_FIELDS: [TraineeField; 11] = [
    TraineeField::provider_trainee_id,
    TraineeField::application_id,
    TraineeField::agency_id,
    TraineeField::first_names,
    TraineeField::middle_names,
    TraineeField::last_name,
    TraineeField::previous_last_name,
    TraineeField::date_of_birth,
    TraineeField::email,
    TraineeField::ni_number,
    TraineeField::trn,
];

/// The reason for refusing a ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGround {
    /// The ground is blank, is too long, or has control characters or line breaks.
    #[error("the ground of an erasure is 1 to {MAX_GROUND_CHARS} characters on one line")]
    Form,
    /// The ground contains an identifying value of the person. Grounds are kept after the erasure.
    #[error(
        "the ground names the person, and is kept: word it without a name, a date of birth or a number of the person"
    )]
    NamesPerson,
}

/// Returns the tombstone of an erased record.
#[must_use]
pub fn tombstone(trainee_id: &str, ukprn: &str, now: Timestamp) -> Trainee {
    Trainee {
        trainee_id: Some(trainee_id.to_owned()),
        ukprn: Some(ukprn.to_owned()),
        state: Some(State::SubmittedForTrn),
        // The same for all records, so that it does not reveal the source.
        record_source: Some(FROM_API.to_owned()),
        created_at: Some(now),
        updated_at: Some(now),
        discarded_at: Some(now),
        ..Trainee::default()
    }
}

/// Whether the record is a tombstone without any other value.
#[must_use]
pub fn is_tombstone(trainee: &Trainee) -> bool {
    match (&trainee.trainee_id, &trainee.ukprn, trainee.discarded_at) {
        (Some(trainee_id), Some(ukprn), Some(erased_at)) => {
            *trainee == tombstone(trainee_id, ukprn, erased_at)
        }
        (_, _, _) => false,
    }
}

/// Trims and checks the ground of an erasure.
///
/// # Errors
///
/// [`InvalidGround::Form`] if the ground is not a visible line of up to [`MAX_GROUND_CHARS`]
/// characters.
pub fn ground(text: &str) -> Result<String, InvalidGround> {
    visible_line(text, MAX_GROUND_CHARS)
        .map(str::to_owned)
        .ok_or(InvalidGround::Form)
}

/// Checks that a ground does not contain any identifying value as whole words. `values` are those
/// of [`identifying_values`].
///
/// # Errors
///
/// [`InvalidGround::NamesPerson`] if the ground contains a value.
pub fn require_impersonal(ground: &str, values: &[String]) -> Result<(), InvalidGround> {
    let ground = padded_words(ground);
    let names_person = values
        .iter()
        .any(|value| ground.contains(&padded_words(value)));
    if names_person {
        Err(InvalidGround::NamesPerson)
    } else {
        Ok(())
    }
}

/// Returns the [`identifying_parts`] of all identifying fields of a record.
#[must_use]
pub fn identifying_values(trainee: &Trainee) -> Vec<String> {
    let mut values = Vec::new();
    for field in IDENTIFYING_FIELDS {
        let value = trainee.stored(field);
        if let Value::Date(date) = value {
            values.extend(identifying_parts(&date.to_string()));
        } else if let Some(text) = value.as_text() {
            values.extend(identifying_parts(text));
        }
    }
    values
}

/// Splits the value of a field of [`IDENTIFYING_FIELDS`] at white space. Returns the case-folded
/// parts that are long enough to identify a person.
#[must_use]
pub fn identifying_parts(value: &str) -> Vec<String> {
    value
        .split_whitespace()
        .map(nfkc_casefold)
        .filter(|part| part.chars().count() >= MIN_IDENTIFYING_CHARS)
        .collect()
}

/// Returns the case-folded words of a text, with a space before and after each word.
fn padded_words(text: &str) -> String {
    let text = nfkc_casefold(text);
    let words = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::field::RecordField as _;
    use crate::invariants::violations;
    use crate::{Degree, Lists, Placement};

    fn person() -> Trainee {
        let text = |text: &str| Some(text.to_owned());
        Trainee {
            trainee_id: text("Fs4G74pwBJ1WWa15FMzZsQKn"),
            ukprn: text("10000001"),
            state: Some(State::Withdrawn),
            provider_trainee_id: text("P-77"),
            first_names: text("Ayo B."),
            middle_names: text("Zoë"),
            last_name: text("Okafor-Will"),
            email: text("ayo@example.com"),
            date_of_birth: "1999-04-12".parse().ok(),
            withdrawal_another_reason: text("moved"),
            placements: vec![Placement::default()],
            degrees: vec![Degree::default()],
            ..Trainee::default()
        }
    }

    #[test]
    fn tombstone_has_no_personal_data() {
        let erased = tombstone("Fs4G74pwBJ1WWa15FMzZsQKn", "10000001", Timestamp::default());
        assert_eq!(violations(&erased, Lists::embedded()), []);
        let held: Vec<_> = TraineeField::ALL
            .iter()
            .filter(|field| erased.stored(**field) != Value::Null)
            .collect();
        assert_eq!(
            held,
            [
                &TraineeField::trainee_id,
                &TraineeField::ukprn,
                &TraineeField::state,
                &TraineeField::created_at,
                &TraineeField::updated_at,
                &TraineeField::discarded_at,
                &TraineeField::record_source,
            ]
        );
        assert!(erased.placements.is_empty() && erased.degrees.is_empty());
        assert!(is_tombstone(&erased) && !is_tombstone(&person()));
        let date_of_birth = person().date_of_birth;
        assert!(!is_tombstone(&Trainee {
            date_of_birth,
            ..erased.clone()
        }));
        assert!(!is_tombstone(&Trainee {
            degrees: person().degrees,
            ..erased
        }));
    }

    #[test]
    fn ground_is_one_line_without_identifying_values() {
        assert_eq!(
            ground(" request of 1 March, case 17 ").as_deref(),
            Ok("request of 1 March, case 17")
        );
        for text in [
            "",
            " ",
            "\u{200b}",
            "a\nb",
            &"x".repeat(MAX_GROUND_CHARS + 1),
        ] {
            assert_eq!(ground(text), Err(InvalidGround::Form), "{text:?}");
        }
        for text in [
            "case 17 (GDPR, article 17)",
            "Okafors",
            "1999",
            "the will of B",
        ] {
            assert_eq!(
                require_impersonal(text, &identifying_values(&person())),
                Ok(()),
                "{text}"
            );
        }
        for text in [
            "asked by AYO",
            "Okafor Will",
            "p-77",
            "born 1999-04-12",
            "see Ayo@example.com.",
            "see ZOE\u{308}",
        ] {
            assert_eq!(
                require_impersonal(text, &identifying_values(&person())),
                Err(InvalidGround::NamesPerson),
                "{text}"
            );
        }
    }
}
