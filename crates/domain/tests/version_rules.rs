//! What a version can demand by itself: a required field, and a rule that reads nested records.

use chrono::{DateTime, NaiveDate};
use domain::commands::{CreationContext, Decision, create, update};
use domain::fields::parsed::ParsedRecord;
use domain::records::organisations::Organisations;
use domain::records::placement::PlacementChanges;
use domain::records::trainee::{NestedRecords, TraineeChanges, route};
use domain::rules::{Run, found_if, placement};
use domain::{
    AcceptedCodes, Change, Context, Degree, Lists, Path, Problem, ProblemKind, Record as _, Rule,
    Rules, Trainee, TraineeField, Value,
};

const NATIONALITY: Rule<Trainee> =
    Rule::require("nationality_required", "0", &[TraineeField::nationality]);

/// Where the route needs a degree, a new trainee has one; a stored one keeps it.
const DEGREE_ON_ROUTE: Rule<Trainee> = Rule {
    name: "degree_on_route",
    description: "has a degree when the route needs one",
    section: "0",
    reads: &[TraineeField::training_route, TraineeField::degrees],
    run: Run::CheckNested(|candidate, nested: &NestedRecords, context| {
        let needed =
            route(&candidate.record, context.lists).is_some_and(|route| route.degree_required);
        let kind = || {
            if candidate.is_new() {
                ProblemKind::NoDegree
            } else {
                ProblemKind::Blank
            }
        };
        found_if(
            needed && nested.degrees.is_empty(),
            TraineeField::degrees,
            kind,
        )
    }),
};

const RULES: Rules = Rules {
    trainee: &[DEGREE_ON_ROUTE, NATIONALITY],
    placement: &[placement::NAME],
    ..Rules::NONE
};

type Decided = Result<Decision<Trainee>, Vec<Problem>>;

fn in_context<T>(apply: impl FnOnce(&Context<'_>) -> T) -> T {
    apply(&Context {
        today: NaiveDate::default(),
        lists: Lists::embedded(),
        accepted_codes: &AcceptedCodes::ALL,
        organisations: &Organisations::default(),
    })
}

fn changes(route: &str) -> TraineeChanges {
    let set = |text: &str| Change::Set(text.to_owned());
    TraineeChanges {
        training_route: set(route),
        nationality: set("GB"),
        ..TraineeChanges::default()
    }
}

/// Creates a trainee on a route, with a number of degrees and with placements of these names.
fn created(route: &str, degrees: usize, placements: &[&str]) -> Decided {
    let degrees = (0..degrees)
        .map(|_| ParsedRecord::<Degree>::default())
        .collect();
    let placement = |name: &&str| PlacementChanges {
        name: Change::Set((*name).to_owned()),
        ..PlacementChanges::default()
    };
    let placements = placements
        .iter()
        .map(|name| ParsedRecord::from_changes(placement(name)))
        .collect();
    let nested = NestedRecords {
        placements,
        degrees,
        ..NestedRecords::default()
    };
    let sent = ParsedRecord {
        nested,
        ..ParsedRecord::from_changes(changes(route))
    };
    let creation = CreationContext {
        now: DateTime::UNIX_EPOCH,
        ukprn: "10000001",
        next_id: &|| None,
    };
    in_context(|context| create(sent, &RULES, context, &creation))
}

/// Updates the route of a stored trainee.
fn updated(stored: &Trainee, route: &str) -> Decided {
    in_context(|context| {
        update(
            stored,
            ParsedRecord::from_changes(changes(route)),
            &RULES,
            context,
            DateTime::UNIX_EPOCH,
        )
    })
}

fn refused(decided: Decided) -> Vec<(Path, ProblemKind)> {
    decided
        .err()
        .unwrap_or_default()
        .into_iter()
        .map(|problem| (problem.at, problem.kind))
        .collect()
}

#[test]
fn rule_reads_new_nested_records() {
    assert_eq!(
        refused(created("12", 0, &[])),
        [(TraineeField::degrees.into(), ProblemKind::NoDegree)]
    );
    assert_eq!(created("12", 1, &[]).unwrap().record.degrees.len(), 1);
    assert_eq!(created("11", 0, &[]).unwrap().record.degrees, []);
}

#[test]
fn rule_reads_stored_nested_records_on_update() {
    let stored = |degrees| Trainee {
        training_route: Some("11".to_owned()),
        degrees,
        ..Trainee::default()
    };
    let moved = updated(&stored(vec![Degree::default()]), "12")
        .unwrap()
        .record;
    assert_eq!(
        (moved.training_route.as_deref(), moved.degrees.len()),
        (Some("12"), 1)
    );
    assert_eq!(
        refused(updated(&stored(vec![]), "12")),
        [(TraineeField::degrees.into(), ProblemKind::Blank)]
    );
    // The update changes no field that the rule reads.
    assert!(
        updated(
            &Trainee {
                training_route: Some("12".to_owned()),
                ..stored(vec![])
            },
            "12"
        )
        .is_ok()
    );
}

#[test]
fn rule_skips_nested_records_with_problems() {
    let name = Path::Nested {
        list: TraineeField::placements.into(),
        position: 0,
        field: domain::PlacementField::name.into(),
    };
    let long = created("12", 0, &[&"n".repeat(256)]);
    assert_eq!(refused(long), [(name, ProblemKind::TooLong { max: 255 })]);
}

#[test]
fn field_of_one_version_counts_nowhere_else() {
    let without = TraineeChanges {
        nationality: Change::Keep,
        ..changes("11")
    };
    let sent = ParsedRecord::from_changes(without);
    let creation = CreationContext {
        now: DateTime::UNIX_EPOCH,
        ukprn: "10000001",
        next_id: &|| None,
    };
    let rules =
        |rules: Rules| in_context(|context| create(sent.clone(), &rules, context, &creation));
    assert_eq!(
        refused(rules(RULES)),
        [(TraineeField::nationality.into(), ProblemKind::Blank)]
    );
    assert!(rules(Rules::NONE).is_ok());
    let complete = Trainee {
        nationality: None,
        ..fixtures::example::trainee()
    };
    assert_eq!(
        complete.value(TraineeField::submission_ready, Lists::embedded()),
        Value::Boolean(true)
    );
}
