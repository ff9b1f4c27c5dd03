//! The invariants of stored records.
//!
//! A rule checks what a request changes; this checks what is stored, whichever request, import or
//! edit wrote it. It demands what is true of every record at any time, so it accepts the codes of
//! all versions, and knows nothing of today.

use chrono::NaiveTime;
use thiserror::Error;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::field::{InvalidValue, RecordField as _};
use crate::fields::value::{Date, Kind, TextList, Timestamp, Value};
use crate::for_each_nested;
use crate::lifecycle::State;
use crate::lists::Lists;
use crate::records::degree::{self, Degree, DegreeField, DegreeKind};
use crate::records::record::{Record, Stored};
use crate::records::trainee::{Borrowed, NestedRecord, NestedRecords, Trainee, TraineeField};
use crate::records::transition::{Deferral, Recommendation, Withdrawal};

/// What cannot be so in a stored record. It names fields and states, never a value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// Text is longer than its field allows.
    #[error("{field} is longer than {max} characters")]
    TooLong {
        /// Canonical name of the field, behind that of the record in which it is nested.
        field: String,
        /// The longest length, in Unicode scalar values.
        max: usize,
    },
    /// A code is in no list that the field may take it from.
    #[error("{field} holds a code that is not in its list")]
    UnknownCode {
        /// As in [`Violation::TooLong`].
        field: String,
    },
    /// A field without which no record is.
    #[error("{field} is missing")]
    Missing {
        /// As in [`Violation::TooLong`].
        field: String,
    },
    /// The state requires a field that is empty.
    #[error("state is {state}, but {field} is missing")]
    StateLacks {
        /// The state.
        state: State,
        /// Canonical name of the field.
        field: &'static str,
    },
    /// A field has a value that belongs to another state.
    #[error("state is {state}, but {field} is there")]
    StateHas {
        /// The state.
        state: State,
        /// Canonical name of the field.
        field: &'static str,
    },
    /// A degree lacks what its kind needs.
    #[error("{field} is missing on a {}", described(*kind))]
    KindLacks {
        /// The kind.
        kind: DegreeKind,
        /// As in [`Violation::TooLong`].
        field: String,
    },
    /// A degree has a value that belongs to the other kind.
    #[error("{field} is there on a {}", described(*kind))]
    KindHas {
        /// The kind.
        kind: DegreeKind,
        /// As in [`Violation::TooLong`].
        field: String,
    },
    /// One date or timestamp must be later than the other.
    #[error("{later} is not later than {earlier}")]
    OutOfOrder {
        /// The earlier one, as [`Violation::TooLong`] names it.
        earlier: String,
        /// The later one.
        later: String,
    },
}

fn described(kind: DegreeKind) -> &'static str {
    match kind {
        DegreeKind::Uk => "degree of the United Kingdom",
        DegreeKind::Foreign => "degree of another country",
    }
}

/// All that cannot be so in a stored trainee, with all that belongs to it.
#[must_use]
pub fn violations(trainee: &dyn Stored<Trainee>, lists: &Lists) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_fields(trainee, "", lists, &mut violations);
    let nested = trainee.nested();
    for_each_nested!(check_nested(&nested, lists, &mut violations));
    for (degree, position) in nested.degrees.into_iter().zip(1..) {
        check_kind(
            degree,
            &nested_prefix::<Degree>(position),
            lists,
            &mut violations,
        );
    }
    // The requests of transitions are stored in fields of the trainee, whose definitions are less
    // strict.
    if let Some(record) = Deferral::from_trainee(trainee) {
        check_fields::<Deferral>(&record, "deferral: ", lists, &mut violations);
    }
    if let Some(record) = Recommendation::from_trainee(trainee) {
        check_fields::<Recommendation>(&record, "recommendation: ", lists, &mut violations);
    }
    if let Some(record) = Withdrawal::from_trainee(trainee) {
        check_fields::<Withdrawal>(&record, "withdrawal: ", lists, &mut violations);
    }
    let reasons: Option<TextList> = trainee.get(TraineeField::withdrawal_reasons);
    if reasons.iter().flatten().any(|code| {
        lists
            .withdrawal_reasons()
            .iter()
            .all(|reason| reason.code != *code)
    }) {
        violations.push(Violation::UnknownCode {
            field: TraineeField::withdrawal_reasons.info().name.to_owned(),
        });
    }
    check_state(trainee, &mut violations);
    check_order(
        "",
        trainee.get(TraineeField::created_at),
        trainee.get(TraineeField::updated_at),
        &mut violations,
    );
    let [start, end]: [Option<Date>; 2] =
        [TraineeField::itt_start_date, TraineeField::itt_end_date].map(|field| trainee.get(field));
    if start.zip(end).is_some_and(|(start, end)| end <= start) {
        violations.push(out_of_order(
            "",
            TraineeField::itt_start_date,
            TraineeField::itt_end_date,
        ));
    }
    let met: Option<Date> = trainee.get(TraineeField::outcome_date);
    if let Some((met, awarded_at)) = met.zip(trainee.get::<Timestamp>(TraineeField::awarded_at))
        && awarded_at < met.and_time(NaiveTime::MIN).and_utc()
    {
        violations.push(out_of_order(
            "",
            TraineeField::outcome_date,
            TraineeField::awarded_at,
        ));
    }
    violations
}

/// How the field of a nested record begins. Positions count from 1.
fn nested_prefix<R: NestedRecord>(position: usize) -> String {
    format!("{} {position}: ", R::NAME)
}

/// What holds for nested records of each kind.
fn check_nested<R: NestedRecord>(
    nested: &NestedRecords<Borrowed<'_>>,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    for (record, position) in R::in_nested(nested).iter().zip(1..) {
        let within = nested_prefix::<R>(position);
        check_fields(*record, &within, lists, violations);
        let [created_at, updated_at] =
            [R::CREATED_AT, R::UPDATED_AT].map(|field| record.get(field));
        check_order(&within, created_at, updated_at, violations);
    }
}

/// Each value fits its field, and what every record has is there.
fn check_fields<R: Record>(
    record: &dyn Stored<R>,
    within: &str,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    for field in R::Field::ALL {
        let info = field.info();
        // A nested list can be empty, and is not stored as a value.
        if info.kind == Kind::Records {
            continue;
        }
        let name = || format!("{within}{}", info.name);
        if info.never_null && R::shown(record, *field, lists) == Value::Null {
            violations.push(Violation::Missing { field: name() });
        }
        let stored = record.stored(*field);
        // A draft is never shown, so its state is none of the words of the dictionary.
        if stored.as_text() == Some(State::Draft.name())
            && info.name == TraineeField::state.info().name
        {
            continue;
        }
        match info.check(&stored, lists, &AcceptedCodes::ALL) {
            None => {}
            Some(InvalidValue::TooLong { max }) => {
                violations.push(Violation::TooLong { field: name(), max })
            }
            Some(InvalidValue::UnknownCode { .. }) => {
                violations.push(Violation::UnknownCode { field: name() })
            }
        }
    }
}

/// A degree is of one kind, whole.
fn check_kind(
    degree: &dyn Stored<Degree>,
    within: &str,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    let kind = degree::kind(degree, lists);
    let stored = |field: &&DegreeField| degree.has(**field);
    let name = |field: &DegreeField| format!("{within}{}", field.info().name);
    let required = kind.required().iter().filter(|field| !stored(field));
    violations.extend(required.map(|field| Violation::KindLacks {
        kind,
        field: name(field),
    }));
    let excluded = kind.excluded().iter().filter(stored);
    violations.extend(excluded.map(|field| Violation::KindHas {
        kind,
        field: name(field),
    }));
}

/// Nothing changes before it is made.
fn check_order(
    within: &str,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    violations: &mut Vec<Violation>,
) {
    if created_at
        .zip(updated_at)
        .is_some_and(|(created_at, updated_at)| updated_at < created_at)
    {
        violations.push(out_of_order(
            within,
            TraineeField::created_at,
            TraineeField::updated_at,
        ));
    }
}

fn out_of_order(within: &str, earlier: TraineeField, later: TraineeField) -> Violation {
    let name = |field: TraineeField| format!("{within}{}", field.info().name);
    Violation::OutOfOrder {
        earlier: name(earlier),
        later: name(later),
    }
}

/// The state has what leads to it, and nothing that leads elsewhere.
fn check_state(trainee: &dyn Stored<Trainee>, violations: &mut Vec<Violation>) {
    use State::{
        Awarded, Deferred, Draft, RecommendedForAward, SubmittedForTrn, TrnReceived, Withdrawn,
    };
    // A record without a state is reported as such.
    let Some(state) = trainee.get(TraineeField::state) else {
        return;
    };
    let needed: &[TraineeField] = match state {
        Draft | SubmittedForTrn => &[],
        TrnReceived => &[TraineeField::trn],
        Deferred => &[TraineeField::defer_date],
        Withdrawn => &[TraineeField::withdrawal_date],
        RecommendedForAward => &[
            TraineeField::outcome_date,
            TraineeField::recommended_for_award_at,
        ],
        Awarded => &[
            TraineeField::trn,
            TraineeField::outcome_date,
            TraineeField::recommended_for_award_at,
            TraineeField::awarded_at,
        ],
    };
    let barred: &[TraineeField] = match state {
        Draft => &[],
        SubmittedForTrn => &[
            TraineeField::trn,
            TraineeField::withdrawal_date,
            TraineeField::awarded_at,
        ],
        TrnReceived | Deferred | RecommendedForAward => {
            &[TraineeField::withdrawal_date, TraineeField::awarded_at]
        }
        Withdrawn => &[TraineeField::awarded_at],
        Awarded => &[TraineeField::withdrawal_date],
    };
    let stored = |field: &&TraineeField| trainee.has(**field);
    violations.extend(needed.iter().filter(|field| !stored(field)).map(|field| {
        Violation::StateLacks {
            state,
            field: field.info().name,
        }
    }));
    violations.extend(
        barred
            .iter()
            .filter(stored)
            .map(|field| Violation::StateHas {
                state,
                field: field.info().name,
            }),
    );
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;
    use crate::Placement;

    fn timestamp() -> Timestamp {
        DateTime::from_timestamp_millis(1_700_000_000_123).unwrap()
    }

    fn valid() -> Trainee {
        Trainee {
            trainee_id: Some("x".to_owned()),
            ukprn: Some("10000001".to_owned()),
            state: Some(State::SubmittedForTrn),
            record_source: Some("api".to_owned()),
            created_at: Some(timestamp()),
            updated_at: Some(timestamp()),
            ..Trainee::default()
        }
    }

    fn messages(trainee: &Trainee) -> Vec<String> {
        violations(trainee, Lists::embedded())
            .iter()
            .map(Violation::to_string)
            .collect()
    }

    #[test]
    fn valid_record_and_draft_have_no_violation() {
        assert_eq!(messages(&valid()), [""; 0]);
        assert_eq!(
            messages(&Trainee {
                state: Some(State::Draft),
                ..valid()
            }),
            [""; 0]
        );
    }

    #[test]
    fn invalid_values_are_named_by_their_fields() {
        let placement = Placement {
            postcode: Some("ZZ99 9ZZZZ".to_owned()),
            created_at: Some(timestamp()),
            updated_at: Some(timestamp() - TimeDelta::milliseconds(1)),
            ..Placement::default()
        };
        let degree = Degree {
            uk_degree: Some("083".to_owned()),
            subject: Some("x".to_owned()),
            created_at: Some(timestamp()),
            ..Degree::default()
        };
        let trainee = Trainee {
            first_names: Some("n".repeat(61)),
            sex: Some("x".to_owned()),
            record_source: None,
            placements: vec![placement],
            degrees: vec![degree],
            ..valid()
        };
        assert_eq!(
            messages(&trainee),
            [
                "first_names is longer than 60 characters",
                "sex holds a code that is not in its list",
                "record_source is missing",
                "placement 1: postcode is longer than 8 characters",
                "placement 1: updated_at is not later than placement 1: created_at",
                "degree 1: subject holds a code that is not in its list",
                "degree 1: updated_at is missing",
            ]
        );
    }

    #[test]
    fn degree_of_mixed_kind_is_named_by_its_position_and_fields() {
        let text = |text: &str| Some(text.to_owned());
        let dated = || Degree {
            created_at: Some(timestamp()),
            updated_at: Some(timestamp()),
            ..Degree::default()
        };
        let whole = || Degree {
            uk_degree: text("083"),
            institution: text("0117"),
            ..dated()
        };
        for (degree, violations) in [
            (whole(), &[][..]),
            (
                Degree {
                    country: text("FR"),
                    non_uk_degree: text("083"),
                    ..dated()
                },
                &[],
            ),
            (
                Degree {
                    non_uk_degree: text("083"),
                    ..dated()
                },
                &["country is missing on a degree of another country"],
            ),
            (
                Degree {
                    country: text("FR"),
                    ..dated()
                },
                &["non_uk_degree is missing on a degree of another country"],
            ),
            (
                dated(),
                &["uk_degree is missing on a degree of the United Kingdom"],
            ),
            (
                Degree {
                    country: text("XF"),
                    ..whole()
                },
                &["country is there on a degree of the United Kingdom"],
            ),
            (
                Degree {
                    country: text("FR"),
                    non_uk_degree: text("083"),
                    ..whole()
                },
                &[
                    "uk_degree is there on a degree of another country",
                    "institution is there on a degree of another country",
                ],
            ),
        ] {
            let expected: Vec<String> = violations
                .iter()
                .map(|violation| format!("degree 2: {violation}"))
                .collect();
            assert_eq!(
                messages(&Trainee {
                    degrees: vec![whole(), degree],
                    ..valid()
                }),
                expected
            );
        }
    }

    #[test]
    fn state_requires_its_fields() {
        let day = timestamp().date_naive();
        for (state, lacks) in [
            (State::TrnReceived, "trn"),
            (State::Deferred, "defer_date"),
            (State::Withdrawn, "withdrawal_date"),
            (State::RecommendedForAward, "outcome_date"),
            (State::Awarded, "awarded_at"),
        ] {
            let violation = format!("state is {state}, but {lacks} is missing");
            assert!(
                messages(&Trainee {
                    state: Some(state),
                    ..valid()
                })
                .contains(&violation),
                "{violation}"
            );
        }
        let withdrawn = Trainee {
            withdrawal_date: Some(day),
            ..valid()
        };
        assert_eq!(
            messages(&withdrawn),
            ["state is submitted_for_trn, but withdrawal_date is there"]
        );
    }

    #[test]
    fn award_is_not_dated_before_the_standards_were_met() {
        let day = timestamp().date_naive();
        let midnight = day.and_time(NaiveTime::MIN).and_utc();
        let awarded = |awarded_at| Trainee {
            state: Some(State::Awarded),
            trn: Some("1234567".to_owned()),
            outcome_date: Some(day),
            recommended_for_award_at: Some(timestamp()),
            awarded_at: Some(awarded_at),
            ..valid()
        };
        // Awards of earlier releases are dated by their confirmation.
        assert_eq!(messages(&awarded(midnight)), [""; 0]);
        assert_eq!(messages(&awarded(timestamp())), [""; 0]);
        let early = midnight - TimeDelta::milliseconds(1);
        assert_eq!(
            messages(&awarded(early)),
            ["awarded_at is not later than outcome_date"]
        );
    }

    #[test]
    fn fields_of_a_transition_are_checked_like_its_request() {
        let day = timestamp().date_naive();
        let trainee = Trainee {
            state: Some(State::Withdrawn),
            defer_date: Some(day),
            defer_reason: Some("r".repeat(501)),
            withdrawal_date: Some(day),
            withdrawal_reasons: Some(vec!["nobody knows".to_owned()]),
            itt_start_date: Some(day),
            itt_end_date: Some(day),
            ..valid()
        };
        assert_eq!(
            messages(&trainee),
            [
                "deferral: defer_reason is longer than 500 characters",
                "withdrawal_reasons holds a code that is not in its list",
                "itt_end_date is not later than itt_start_date",
            ]
        );
    }
}
