//! A small valid version, the starting point of tests. Tests of the checks break it in one place.

#[cfg(test)]
use adapter_kit::Versions;
use adapter_kit::version::{
    AllInputs, ApiVersion, Endpoints, NestedErrors, NestedShapes, NestedVisibility, Publication,
    Shapes, Status, Vocabulary, date,
};
use adapter_kit::{Inputs, Label, Shape, Wire, inputs, shape};
use domain::rules::{Rule, Rules, course, dates, degree, required};
use domain::{
    AcceptedCodes, Deferral, DeferralField, Degree, DegreeField, Placement, PlacementField,
    Recommendation, RecommendationField, Trainee, TraineeField, Withdrawal, WithdrawalField,
};

#[cfg(test)]
use crate::case::CheckFailure;
#[cfg(test)]
use crate::runner::Check;
use crate::sample::ADJUSTMENTS;
#[cfg(test)]
use crate::sample::Sample;

/// A version with few fields and with its own names for some of them.
pub const SAMPLE_VERSION: ApiVersion = ApiVersion {
    label: Label::release(2001, 0),
    publication: Publication {
        since: Some(date(2001, 1, 1)),
        status: Status::Released,
        deprecated_on: None,
        sunset_on: None,
    },
    shapes: Shapes {
        trainee: TRAINEE,
        nested_in_lists: NestedVisibility::Hidden,
        placement: NestedShapes {
            alone: shape! { Placement, PlacementField: placement_id, urn, name, postcode, school_id },
            in_trainee: shape! { Placement, PlacementField: urn, name, postcode },
        },
        degree: NestedShapes::from_shape(DEGREE),
        ..Shapes::NONE
    },
    inputs: AllInputs {
        trainee: TRAINEE_INPUTS,
        placement: inputs! { Placement, PlacementField: urn, name, postcode },
        degree: inputs! { Degree, DegreeField:
            uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade, country,
        },
        withdrawal: inputs! { Withdrawal, WithdrawalField:
            left_on = withdrawal_date, trigger, future_interest, reasons, another_reason,
            safeguarding_concern_reasons,
        },
        deferral: inputs! { Deferral, DeferralField: defer_date, defer_reason },
        recommendation: inputs! { Recommendation, RecommendationField: qts_standards_met_date },
        ..AllInputs::NONE
    },
    rules: Rules {
        trainee: RULES,
        degree: DEGREE_RULES,
        ..ADJUSTMENTS
    },
    accepted_codes: AcceptedCodes {
        accepted: &[],
        funding_exception_years: &[],
    },
    endpoints: Endpoints {
        available: &[],
        deprecated: &[],
    },
    refuses_names_up_to: Label::release(2002, 0),
    nested_errors: NestedErrors::Nested,
    vocabulary: Vocabulary {
        training_partner: "partner",
    },
    wire: Wire::COMMON,
    notes: &[],
};

const TRAINEE: Shape<Trainee> = shape! { Trainee, TraineeField:
    trainee_id, given_names = first_names, last_name, email, date_of_birth, disability1, disability2, disability3 when_set,
    training_route, course_subject_1, course_age_range, itt_start_date, itt_end_date, trainee_start_date,
    course_education_phase, state, withdrawn_on = withdrawal_date, created_at, placements, degrees,
};

const TRAINEE_INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField:
    given_names = first_names, last_name, email, date_of_birth, disability1, disability2, disability3, training_route,
    course_subject_1, course_age_range, itt_start_date, itt_end_date, trainee_start_date,
    schools = placements, awards = degrees,
};

const DEGREE: Shape<Degree> = shape! { Degree, DegreeField:
    degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade, country,
};

const RULES: &[Rule<Trainee>] = &[
    dates::START_AS_PLANNED,
    course::IQTS_COUNTRY_LEAVES,
    dates::END_AFTER_START,
    required::FIRST_NAMES,
];

const DEGREE_RULES: &[Rule<Degree>] = &[
    degree::KIND,
    degree::GRADE_RECORDED,
    degree::UK_DEGREE,
    degree::NON_UK_DEGREE,
    degree::COUNTRY_REQUIRED,
];

/// The date of all requests in tests.
pub const TODAY: chrono::NaiveDate = date(2026, 3, 25);

/// Runs a check on a version that is served next to a valid version.
#[cfg(test)]
pub(crate) fn check_version(check: Check, version: ApiVersion) -> Result<(), CheckFailure> {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        ..SAMPLE_VERSION
    };
    let versions = Versions::new(&[Box::leak(Box::new(version)), Box::leak(Box::new(other))]);
    check(&versions, &Sample::new(5, 80, TODAY).unwrap())
}

/// Returns a valid version with other rules for trainees.
#[cfg(test)]
pub(crate) const fn with_rules(rules: &'static [Rule<Trainee>]) -> ApiVersion {
    ApiVersion {
        rules: Rules {
            trainee: rules,
            ..SAMPLE_VERSION.rules
        },
        ..SAMPLE_VERSION
    }
}

/// All checks.
#[cfg(test)]
pub(crate) const CHECKS: [Check; 9] = [
    crate::every_record_serialises,
    crate::round_trip_is_lossless,
    crate::updates_touch_only_what_was_sent,
    crate::updates_keep_records_valid,
    crate::errors_use_own_names,
    crate::translation_matches_target_version,
    crate::can_be_seeded,
    crate::no_input_panics,
    crate::defaults_yield_to_sent_values,
];

#[cfg(test)]
mod tests {
    use adapter_kit::version::NestedVisibility;

    use super::*;

    #[test]
    fn sample_version_passes_every_check() {
        for check in CHECKS {
            check_version(check, SAMPLE_VERSION).unwrap();
        }
    }

    #[test]
    fn version_with_nested_records_in_lists_passes_every_check() {
        let shapes = Shapes {
            nested_in_lists: NestedVisibility::Shown,
            ..SAMPLE_VERSION.shapes
        };
        for check in CHECKS {
            check_version(
                check,
                ApiVersion {
                    shapes,
                    ..SAMPLE_VERSION
                },
            )
            .unwrap();
        }
    }
}
