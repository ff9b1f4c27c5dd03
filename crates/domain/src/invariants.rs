//! The invariants of stored records.
//!
//! Rules check the changes of a request. Invariants check a whole stored record, written by a
//! request, an import or an edit by hand. Invariants hold for all versions at any time: they accept
//! the codes of all versions and do not depend on the current date.

use chrono::NaiveTime;
use thiserror::Error;

use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::field::{InvalidValue, RecordField as _};
use crate::fields::value::{Date, Kind, TextList, Timestamp, Value};
use crate::for_each_nested;
use crate::lifecycle::State;
use crate::lists::Lists;
use crate::records::degree::{self, Degree, DegreeKind};
use crate::records::record::{Record, Stored};
use crate::records::trainee::{Borrowed, NestedRecord, NestedRecords, Trainee, TraineeField};
use crate::records::transition::{Deferral, Recommendation, Withdrawal};

/// A violated invariant of a stored record. Messages contain fields and states, but no values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// Text is longer than its field allows.
    #[error("{field} is longer than {max} characters")]
    TooLong {
        /// The field, such as `sex` or `degree 1: subject`.
        field: String,
        /// The maximum length, in Unicode scalar values.
        max: usize,
    },
    /// A code is not in the list of its field.
    #[error("{field} holds a code that is not in its list")]
    UnknownCode {
        /// The field, such as `sex` or `degree 1: subject`.
        field: String,
    },
    /// A field that every record must have is empty.
    #[error("{field} is missing")]
    Missing {
        /// The field, such as `ukprn` or `degree 1: created_at`.
        field: String,
    },
    /// A field that the state requires is empty.
    #[error("state is {state}, but {field} is missing")]
    StateLacks {
        /// The state.
        state: State,
        /// The canonical name of the field.
        field: &'static str,
    },
    /// A field that the state does not allow has a value.
    #[error("state is {state}, but {field} is there")]
    StateHas {
        /// The state.
        state: State,
        /// The canonical name of the field.
        field: &'static str,
    },
    /// A field that the kind of the degree requires is empty.
    #[error("{field} is missing on a {}", kind_description(*kind))]
    KindLacks {
        /// The kind.
        kind: DegreeKind,
        /// The field, such as `degree 1: grade`.
        field: String,
    },
    /// A field that the kind of the degree does not allow has a value.
    #[error("{field} is there on a {}", kind_description(*kind))]
    KindHas {
        /// The kind.
        kind: DegreeKind,
        /// The field, such as `degree 1: country`.
        field: String,
    },
    /// Two dates or timestamps are not in order.
    #[error("{later} is not later than {earlier}")]
    OutOfOrder {
        /// The field with the earlier date or timestamp.
        earlier: String,
        /// The field with the later date or timestamp.
        later: String,
    },
}

fn kind_description(kind: DegreeKind) -> &'static str {
    match kind {
        DegreeKind::Uk => "degree of the United Kingdom",
        DegreeKind::Foreign => "degree of another country",
    }
}

/// Returns all violations of a stored trainee and its nested records.
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
    check_transitions(trainee, lists, &mut violations);
    check_state(trainee, &mut violations);
    check_audit_order(
        "",
        trainee.get(TraineeField::created_at),
        trainee.get(TraineeField::updated_at),
        &mut violations,
    );
    check_training_order(trainee, &mut violations);
    violations
}

/// Checks the fields of the trainee that keep the inputs of transitions, such as the reason of a
/// deferral. An input has a stricter definition than the field that keeps it.
fn check_transitions(
    trainee: &dyn Stored<Trainee>,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    if let Some(record) = Deferral::from_trainee(trainee) {
        check_fields::<Deferral>(&record, "deferral: ", lists, violations);
    }
    if let Some(record) = Recommendation::from_trainee(trainee) {
        check_fields::<Recommendation>(&record, "recommendation: ", lists, violations);
    }
    if let Some(record) = Withdrawal::from_trainee(trainee) {
        check_fields::<Withdrawal>(&record, "withdrawal: ", lists, violations);
    }
    let reasons: Option<TextList> = trainee.get(TraineeField::withdrawal_reasons);
    let has_unknown_reason = reasons.iter().flatten().any(|code| {
        lists
            .withdrawal_reasons()
            .iter()
            .all(|reason| reason.code != *code)
    });
    if has_unknown_reason {
        violations.push(Violation::UnknownCode {
            field: TraineeField::withdrawal_reasons.info().name.to_owned(),
        });
    }
}

/// Checks that the training ends after its start, and that the award is not before the day the
/// standards were met.
fn check_training_order(trainee: &dyn Stored<Trainee>, violations: &mut Vec<Violation>) {
    let start: Option<Date> = trainee.get(TraineeField::itt_start_date);
    let end: Option<Date> = trainee.get(TraineeField::itt_end_date);
    if start.zip(end).is_some_and(|(start, end)| end <= start) {
        violations.push(out_of_order(
            "",
            TraineeField::itt_start_date,
            TraineeField::itt_end_date,
        ));
    }
    let met: Option<Date> = trainee.get(TraineeField::outcome_date);
    let awarded_at: Option<Timestamp> = trainee.get(TraineeField::awarded_at);
    if let Some((met, awarded_at)) = met.zip(awarded_at)
        && awarded_at < met.and_time(NaiveTime::MIN).and_utc()
    {
        violations.push(out_of_order(
            "",
            TraineeField::outcome_date,
            TraineeField::awarded_at,
        ));
    }
}

/// Returns the prefix for fields of a nested record. Positions count from 1.
fn nested_prefix<R: NestedRecord>(position: usize) -> String {
    format!("{} {position}: ", R::NAME)
}

/// Checks the fields and timestamps of the nested records of one kind.
fn check_nested<R: NestedRecord>(
    nested: &NestedRecords<Borrowed<'_>>,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    for (record, position) in R::in_nested(nested).iter().zip(1..) {
        let prefix = nested_prefix::<R>(position);
        check_fields(*record, &prefix, lists, violations);
        check_audit_order(
            &prefix,
            record.get(R::CREATED_AT),
            record.get(R::UPDATED_AT),
            violations,
        );
    }
}

/// Checks that each value is valid in its field, and that required fields have a value.
fn check_fields<R: Record>(
    record: &dyn Stored<R>,
    prefix: &str,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    for field in R::Field::ALL {
        let info = field.info();
        // Nested lists are not stored as values.
        if info.kind == Kind::Records {
            continue;
        }
        let name = || format!("{prefix}{}", info.name);
        if info.never_null && R::shown(record, *field, lists) == Value::Null {
            violations.push(Violation::Missing { field: name() });
        }
        let stored = record.stored(*field);
        // The API never shows drafts, so the words of the field `state` do not include `draft`.
        if stored.as_text() == Some(State::Draft.name())
            && info.name == TraineeField::state.info().name
        {
            continue;
        }
        match info.check(&stored, lists, &AcceptedCodes::ALL) {
            None => {}
            Some(InvalidValue::TooLong { max }) => {
                violations.push(Violation::TooLong { field: name(), max });
            }
            Some(InvalidValue::UnknownCode { .. }) => {
                violations.push(Violation::UnknownCode { field: name() });
            }
        }
    }
}

/// Checks that a degree has all required and no excluded fields of its kind.
fn check_kind(
    degree: &dyn Stored<Degree>,
    prefix: &str,
    lists: &Lists,
    violations: &mut Vec<Violation>,
) {
    let kind = degree::kind(degree, lists);
    for required in kind.required() {
        if !degree.has(*required) {
            let field = format!("{prefix}{}", required.info().name);
            violations.push(Violation::KindLacks { kind, field });
        }
    }
    for excluded in kind.excluded() {
        if degree.has(*excluded) {
            let field = format!("{prefix}{}", excluded.info().name);
            violations.push(Violation::KindHas { kind, field });
        }
    }
}

/// Checks that the last change is not before the creation.
fn check_audit_order(
    prefix: &str,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    violations: &mut Vec<Violation>,
) {
    if created_at
        .zip(updated_at)
        .is_some_and(|(created_at, updated_at)| updated_at < created_at)
    {
        violations.push(out_of_order(
            prefix,
            TraineeField::created_at,
            TraineeField::updated_at,
        ));
    }
}

/// Returns a violation for two fields whose dates are not in order. `prefix` precedes their names.
fn out_of_order(prefix: &str, earlier: TraineeField, later: TraineeField) -> Violation {
    Violation::OutOfOrder {
        earlier: format!("{prefix}{}", earlier.info().name),
        later: format!("{prefix}{}", later.info().name),
    }
}

/// Checks that the record has the fields that its state requires, and none that it does not allow.
fn check_state(trainee: &dyn Stored<Trainee>, violations: &mut Vec<Violation>) {
    use State::{
        Awarded, Deferred, Draft, RecommendedForAward, SubmittedForTrn, TrnReceived, Withdrawn,
    };
    // `check_fields` reports a record without a state.
    let Some(state) = trainee.get(TraineeField::state) else {
        return;
    };
    let required: &[TraineeField] = match state {
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
    let excluded: &[TraineeField] = match state {
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
    for field in required {
        if !trainee.has(*field) {
            let field = field.info().name;
            violations.push(Violation::StateLacks { state, field });
        }
    }
    for field in excluded {
        if trainee.has(*field) {
            let field = field.info().name;
            violations.push(Violation::StateHas { state, field });
        }
    }
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
    fn invalid_values_are_reported_by_field() {
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
    fn mixed_degree_is_reported_with_its_fields() {
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
    fn award_before_outcome_date_is_a_violation() {
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
        // Earlier releases stored the time of confirmation.
        assert_eq!(messages(&awarded(midnight)), [""; 0]);
        assert_eq!(messages(&awarded(timestamp())), [""; 0]);
        let early = midnight - TimeDelta::milliseconds(1);
        assert_eq!(
            messages(&awarded(early)),
            ["awarded_at is not later than outcome_date"]
        );
    }

    #[test]
    fn transition_fields_are_checked_like_requests() {
        let day = timestamp().date_naive();
        let trainee = Trainee {
            state: Some(State::Withdrawn),
            defer_date: Some(day),
            defer_reason: Some("r".repeat(501)),
            withdrawal_date: Some(day),
            withdrawal_reasons: Some(vec!["unknown_reason".to_owned()]),
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
