//! The field names of this version.

use adapter_kit::{AllInputs, NestedShapes, NestedVisibility, Shapes, inputs, shape};
use domain::{
    Deferral, DeferralField, Degree, DegreeField, Placement, PlacementField, Recommendation,
    RecommendationField, Trainee, TraineeField, Withdrawal, WithdrawalField,
};

use crate::own::{AGENCY_DISABILITIES, WITHDRAW_REASONS_DFE_DETAILS};

/// The fields of responses.
pub(crate) const SHAPES: Shapes = Shapes {
    trainee: shape! { Trainee, TraineeField:
        trainee_id, provider_trainee_id, application_id, agency_id, trn,
        first_names, middle_names, last_name, previous_last_name, date_of_birth, email, nationality, sex, ni_number,
        ethnicity, ethnic_group, ethnic_background, additional_ethnic_background, diversity_disclosure,
        disability_disclosure, disability1, disability2, disability3 when_set, disability4 when_set, disability5 when_set,
        disability6 when_set, disability7 when_set, disability8 when_set, disability9 when_set,
        training_route, course_subject_one = course_subject_1, course_subject_two = course_subject_2,
        course_subject_three = course_subject_3, course_age_range, course_min_age, course_max_age,
        course_education_phase, course_qualification, course_level, course_title, course_uuid, course_itt_start_date,
        course_year, study_mode, itt_aim, itt_qualification_aim, ebacc, region,
        itt_start_date, itt_end_date, trainee_start_date, outcome_date, reinstate_date, pg_apprenticeship_start_date,
        created_at, updated_at, submitted_for_trn_at, recommended_for_award_at, awarded_at, discarded_at, agency_updated_at,
        slug_sent_to_registry_at,
        training_initiative, additional_training_initiative, fund_code, funding_method, applying_for_bursary,
        applying_for_scholarship, applying_for_grant, bursary_tier,
        ukprn, employing_school_urn,
        lead_partner_urn = training_partner_urn, lead_partner_ukprn = training_partner_ukprn,
        lead_partner_not_applicable = training_partner_not_applicable, employing_school_not_applicable,
        state, defer_date, defer_reason,
        withdraw_date = withdrawal_date, withdrawal_trigger, withdrawal_future_interest,
        withdraw_reasons = withdrawal_reasons, withdrawal_another_reason, withdrawal_safeguarding_concern_reasons,
        submission_ready, commencement_status, record_source, created_from_legacy, created_from_agency,
        additional_legacy_data, agency_editable, placement_detail,
        expected_end_date = itt_end_date, bursary_level = funding_method,
        agency_disabilities => AGENCY_DISABILITIES, withdraw_reasons_dfe_details => WITHDRAW_REASONS_DFE_DETAILS,
        placements, degrees,
    },
    nested_in_lists: NestedVisibility::Hidden,
    placement: NestedShapes {
        alone: shape! { Placement, PlacementField:
            placement_id, urn, name, address, postcode, school_id, created_at, updated_at,
        },
        in_trainee: shape! { Placement, PlacementField:
            placement_id, urn, name, address, postcode, created_at, updated_at,
        },
    },
    degree: NestedShapes::from_shape(shape! { Degree, DegreeField:
        degree_id, uk_degree, non_uk_degree, subject, institution, graduation_year, grade, other_grade, country,
        institution_uuid, uk_degree_uuid, subject_uuid, grade_uuid, created_at, updated_at,
    }),
    ..Shapes::NONE
};

/// The fields that requests can set.
pub(crate) const INPUTS: AllInputs = AllInputs {
    trainee: inputs! { Trainee, TraineeField:
        provider_trainee_id, application_id, agency_id, first_names, middle_names, last_name, previous_last_name,
        date_of_birth, email, nationality, sex, ni_number, ethnicity, ethnic_group, ethnic_background,
        disability1, disability2, disability3, disability4, disability5, disability6, disability7, disability8, disability9,
        training_route, course_subject_one = course_subject_1, course_subject_two = course_subject_2,
        course_subject_three = course_subject_3, course_age_range, course_year, study_mode, itt_aim,
        itt_qualification_aim, itt_start_date, itt_end_date, trainee_start_date, pg_apprenticeship_start_date,
        training_initiative, additional_training_initiative, fund_code, funding_method,
        employing_school_urn, lead_partner_urn = training_partner_urn, lead_partner_ukprn = training_partner_ukprn,
        placements_attributes = placements, degrees_attributes = degrees,
    },
    placement: inputs! { Placement, PlacementField: urn, name, postcode },
    degree: inputs! { Degree, DegreeField:
        uk_degree, non_uk_degree, subject, institution, graduation_year, grade, other_grade, country,
    },
    withdrawal: inputs! { Withdrawal, WithdrawalField:
        withdraw_date = withdrawal_date, trigger, future_interest, reasons, another_reason, safeguarding_concern_reasons,
    },
    deferral: inputs! { Deferral, DeferralField: defer_date, defer_reason },
    recommendation: inputs! { Recommendation, RecommendationField: qts_standards_met_date },
    ..AllInputs::NONE
};
