//! A version with fields in all common forms.

use adapter_kit::form::{
    CodeWords, FirstWord, Flag, LABELLED, NUMBER, Prefix, Scaled, ThreeWords, UNIX_SECONDS,
};
use adapter_kit::version::{AllInputs, ApiVersion, NestedShapes, Shapes};
use adapter_kit::{Filter, inputs, shape};
use domain::{Degree, DegreeField, Placement, PlacementField, Trainee, TraineeField};

use crate::sample_version::SAMPLE_VERSION;

const MONTHS: Scaled = Scaled::new(12, "months");
const SCHOOL: Prefix = Prefix("urn_");
const TRAINEE_ID: Prefix = Prefix("trainee_");
const PLACEMENT_ID: Prefix = Prefix("placement_");
const ORDER: CodeWords = CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]);
const IS_FULL_TIME: Flag = Flag {
    yes: "01",
    no: "31",
};
const BURSARY: ThreeWords = ThreeWords {
    yes: "yes",
    no: "no",
    unknown: "unknown",
};

/// A version with numbers, booleans, words, labelled codes, seconds, prefixes and split texts.
pub const FORM_VERSION: ApiVersion = ApiVersion {
    shapes: Shapes {
        trainee: shape! { Trainee, TraineeField:
            trainee_id as TRAINEE_ID read_only, given_name = first_names[0] as FirstWord,
            other_given_names = first_names[1] as FirstWord, last_name, email, date_of_birth as UNIX_SECONDS,
            disability1, disability2, disability3 when_set, is_full_time = study_mode as IS_FULL_TIME,
            course_year as NUMBER, training_route, course { subject = course_subject_1 as LABELLED },
            course_age_range, course_min_age_months = course_min_age as MONTHS, itt_start_date, itt_end_date,
            trainee_start_date, applying_for_bursary as BURSARY, course_education_phase, state,
            withdrawn_on = withdrawal_date, created_at as UNIX_SECONDS, placements, degrees,
        },
        placement: NestedShapes::from_shape(shape! { Placement, PlacementField:
            placement_id as PLACEMENT_ID, urn as SCHOOL, name, postcode, school_id,
        }),
        degree: NestedShapes::from_shape(shape! { Degree, DegreeField:
            degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year as NUMBER,
            grade as LABELLED, other_grade, country,
        }),
        ..SAMPLE_VERSION.shapes
    },
    inputs: AllInputs {
        trainee: inputs! { Trainee, TraineeField:
            given_name = first_names[0] as FirstWord, other_given_names = first_names[1] as FirstWord, last_name, email,
            date_of_birth as UNIX_SECONDS, disability1, disability2, disability3,
            is_full_time = study_mode as IS_FULL_TIME, course_year as NUMBER, training_route,
            course { subject = course_subject_1 as LABELLED }, course_age_range, itt_start_date, itt_end_date,
            trainee_start_date, schools = placements, awards = degrees,
        },
        placement: inputs! { Placement, PlacementField: urn as SCHOOL, name, postcode },
        degree: inputs! { Degree, DegreeField:
            uk_degree, non_uk_degree, topic = subject, institution, graduation_year as NUMBER, grade as LABELLED,
            other_grade, country,
        },
        filters: &[
            (Filter::AcademicCycle, &NUMBER),
            (Filter::HasTrn, &BURSARY),
            (Filter::SortOrder, &ORDER),
        ],
        ..SAMPLE_VERSION.inputs
    },
    ..SAMPLE_VERSION
};

#[cfg(test)]
mod tests {
    use adapter_kit::problems::message;
    use adapter_kit::read::{NestedLists, Reader, UnknownNames};
    use adapter_kit::view::View;
    use adapter_kit::{Versions, identifiers, names};
    use domain::{Lists, ParsedRecord};
    use serde_json::{Value, json};

    use super::*;
    use crate::runner::Check;
    use crate::sample_version::{CHECKS, check_version};

    static VERSION: ApiVersion = FORM_VERSION;

    fn read(data: &Value, nested: NestedLists) -> ParsedRecord<Trainee> {
        let versions = Versions::new(&[&VERSION]);
        let served = versions.iter().next().unwrap();
        let reader = Reader {
            served,
            unknown: UnknownNames::Warn,
            nested,
        };
        let body = json!({ "data": data }).to_string();
        reader.read::<Trainee>(body.as_bytes()).unwrap()
    }

    /// Reads an update of a trainee, and returns the first names after it.
    fn first_names_after(stored: &str, data: &Value) -> Option<String> {
        let stored = Trainee {
            first_names: Some(stored.to_owned()),
            ..Trainee::default()
        };
        let mut sent = read(data, NestedLists::Ignore);
        assert_eq!(sent.problems, []);
        sent.complete_values(Some(&domain::Record::split(stored).0), Lists::embedded());
        sent.text(TraineeField::first_names)
    }

    #[test]
    fn version_with_all_common_forms_passes_the_checks() {
        for check in CHECKS {
            // The translation has its own tests.
            let translation: Check = crate::translation_matches_target_version;
            if !std::ptr::fn_addr_eq(check, translation) {
                check_version(check, FORM_VERSION).unwrap();
            }
        }
    }

    #[test]
    fn record_is_written_in_the_forms() {
        let trainee = Trainee {
            trainee_id: Some("a1".to_owned()),
            first_names: Some("Jane Mary Ann".to_owned()),
            study_mode: Some("31".to_owned()),
            course_year: Some("2".to_owned()),
            course_min_age: Some(11),
            course_subject_1: Some("100403".to_owned()),
            date_of_birth: chrono::NaiveDate::from_ymd_opt(2000, 1, 1),
            ..Trainee::default()
        };
        let shown =
            serde_json::to_value(View::trainee(&VERSION, &trainee, Lists::embedded())).unwrap();
        for (name, value) in [
            ("trainee_id", json!("trainee_a1")),
            ("given_name", json!("Jane")),
            ("other_given_names", json!("Mary Ann")),
            ("is_full_time", json!(false)),
            ("course_year", json!(2)),
            ("course_min_age_months", json!(132)),
            (
                "course",
                json!({ "subject": { "code": "100403", "label": "Mathematics" } }),
            ),
            ("date_of_birth", json!(946_684_800)),
            ("applying_for_bursary", json!("no")),
            ("created_at", Value::Null),
        ] {
            assert_eq!(shown[name], value, "{name}");
        }
    }

    #[test]
    fn identifiers_in_paths_have_the_form_of_their_entries() {
        for (name, written, canonical) in [
            ("trainee_id", "trainee_a1", Some("a1")),
            ("trainee_id", "a1", None),
            ("trainee_id", "placement_a1", None),
            ("placement_id", "placement_a1", Some("a1")),
            // Without a form.
            ("degree_id", "a1", Some("a1")),
        ] {
            let is = identifiers::read(&VERSION, name, written);
            assert_eq!(is.as_deref(), canonical, "{name} {written}");
        }
        let ids = ["trainee_id", "placement_id"].map(|name| (name, "a1".to_owned()));
        let path = "/trainees/{trainee_id}/placements/{placement_id}";
        assert_eq!(
            identifiers::fill(&VERSION, path, &ids),
            "/trainees/trainee_a1/placements/placement_a1"
        );
    }

    #[test]
    fn split_field_is_named_with_all_members() {
        let members = |field: TraineeField| names::members(&VERSION, field.into());
        assert_eq!(
            members(TraineeField::first_names),
            ["given_name", "other_given_names"]
        );
        assert_eq!(members(TraineeField::study_mode), ["is_full_time"]);
        assert_eq!(members(TraineeField::state), ["state"]);
    }

    #[test]
    fn wrong_value_is_named_with_its_member() {
        for (data, path, expected) in [
            (
                json!({ "course_year": "2" }),
                "course_year",
                "a whole number",
            ),
            (
                json!({ "is_full_time": "01" }),
                "is_full_time",
                "true or false",
            ),
            (
                json!({ "other_given_names": 3 }),
                "other_given_names",
                "text; the first member is one word, and the other member needs it",
            ),
            (
                json!({ "course": { "subject": true } }),
                "course.subject",
                "a code, or an object with a code",
            ),
        ] {
            let sent = read(&data, NestedLists::Ignore);
            let [problem] = &sent.problems[..] else {
                panic!("{data}: {:?}", sent.problems);
            };
            assert_eq!(names::path(&VERSION, &problem.at), path);
            assert_eq!(
                message(&VERSION, Lists::embedded(), problem),
                format!("is invalid: it must be {expected}")
            );
        }
    }

    #[test]
    fn update_with_one_member_keeps_the_others() {
        for (data, after) in [
            (json!({ "given_name": "Joan" }), Some("Joan Mary Ann")),
            (json!({ "other_given_names": "Eve" }), Some("Jane Eve")),
            (json!({ "other_given_names": null }), Some("Jane")),
            (
                json!({ "given_name": "A", "other_given_names": "B" }),
                Some("A B"),
            ),
            (
                json!({ "given_name": null, "other_given_names": null }),
                None,
            ),
        ] {
            let is = first_names_after("Jane Mary Ann", &data);
            assert_eq!(is.as_deref(), after, "{data}");
        }
    }

    #[test]
    fn new_record_with_one_member_has_that_value() {
        let sent = read(&json!({ "given_name": "Joan" }), NestedLists::Read);
        assert_eq!(
            sent.text(TraineeField::first_names).as_deref(),
            Some("Joan")
        );
    }

    #[test]
    fn code_is_read_from_object_and_by_itself() {
        for code in [json!("100403"), json!(100_403), json!({ "code": "100403" })] {
            let sent = read(&json!({ "course": { "subject": code } }), NestedLists::Read);
            let read = sent.text(TraineeField::course_subject_1);
            assert_eq!(read.as_deref(), Some("100403"));
        }
    }
}
