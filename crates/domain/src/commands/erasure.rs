//! The erasure of a person from the register.
//!
//! A record that is erased becomes a tombstone: it has its identifier and its provider, and is
//! discarded. It holds nothing of the person. Clients that follow the changes learn by it that the
//! trainee is removed, and nobody gets the identifier again.

use crate::fields::value::{Timestamp, Value};
use crate::fields::vocabulary::FROM_API;
use crate::lifecycle::State;
use crate::records::record::Stored;
use crate::records::trainee::{Trainee, TraineeField};
use crate::values::text::{nfkc_casefold, visible_line};

/// The longest ground of an erasure, in characters.
pub const MAX_GROUND_CHARS: usize = 500;

/// A value with fewer characters stands in too many texts to say that one of them is about the
/// person.
const MIN_IDENTIFYING_CHARS: usize = 3;

/// The fields of which a single value may identify a person.
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

/// Why a ground is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGround {
    /// It says nothing, too much, or more than one line.
    #[error("the ground of an erasure is 1 to {MAX_GROUND_CHARS} characters on one line")]
    Form,
    /// It would keep what is to be erased.
    #[error(
        "the ground names the person, and is kept: word it without a name, a date of birth or a number of the person"
    )]
    NamesPerson,
}

/// What is left of a record that is erased.
#[must_use]
pub fn tombstone(trainee_id: &str, ukprn: &str, now: Timestamp) -> Trainee {
    Trainee {
        trainee_id: Some(trainee_id.to_owned()),
        ukprn: Some(ukprn.to_owned()),
        state: Some(State::SubmittedForTrn),
        // Of any record, whatever its source was.
        record_source: Some(FROM_API.to_owned()),
        created_at: Some(now),
        updated_at: Some(now),
        discarded_at: Some(now),
        ..Trainee::default()
    }
}

/// Whether a record is a tombstone, and holds nothing else.
#[must_use]
pub fn is_tombstone(trainee: &Trainee) -> bool {
    match (&trainee.trainee_id, &trainee.ukprn, trainee.discarded_at) {
        (Some(trainee_id), Some(ukprn), Some(erased_at)) => {
            *trainee == tombstone(trainee_id, ukprn, erased_at)
        }
        (_, _, _) => false,
    }
}

/// A ground as it is kept.
///
/// # Errors
///
/// [`InvalidGround::Form`].
pub fn ground(text: &str) -> Result<String, InvalidGround> {
    visible_line(text, MAX_GROUND_CHARS)
        .map(str::to_owned)
        .ok_or(InvalidGround::Form)
}

/// Fails when a ground has one of the values that identify the person, as words of its own.
///
/// # Errors
///
/// [`InvalidGround::NamesPerson`].
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

/// The values of a record that may identify the person, case-folded; of names, each part.
#[must_use]
pub fn identifying_values(trainee: &Trainee) -> Vec<String> {
    let texts = IDENTIFYING_FIELDS.iter().filter_map(|field| {
        let value = trainee.stored(*field);
        if let Value::Date(date) = value {
            Some(date.to_string())
        } else {
            value.as_text().map(str::to_owned)
        }
    });
    texts.flat_map(|text| identifying_parts(&text)).collect()
}

/// The value of a field of [`IDENTIFYING_FIELDS`] as it is looked for in a text: case-folded; of
/// names, each part.
#[must_use]
pub fn identifying_parts(value: &str) -> Vec<String> {
    let parts = value.split_whitespace().map(nfkc_casefold);
    parts
        .filter(|part| part.chars().count() >= MIN_IDENTIFYING_CHARS)
        .collect()
}

/// The words of a text, case-folded, with a space before and behind each.
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
    fn a_tombstone_holds_nothing_of_the_person_and_keeps_the_invariants() {
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
    fn a_ground_is_one_short_line_that_does_not_name_the_person() {
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
