//! The fields that all versions require (contract, section 2.1).
//!
//! The dictionary marks these fields as `required`. A version that requires another field has a
//! rule in its own crate ([`Rule::require`](crate::Rule::require)).

use crate::records::trainee::{Trainee, TraineeField as F};

required_rules! { Trainee:
    FIRST_NAMES("2.1") = "first_names_required": [F::first_names];
    LAST_NAME("2.1") = "last_name_required": [F::last_name];
    DATE_OF_BIRTH("2.1") = "date_of_birth_required": [F::date_of_birth];
    SEX("2.1") = "sex_required": [F::sex];
    EMAIL("2.1") = "email_required": [F::email];
    AGENCY_ID("2.1") = "agency_id_required": [F::agency_id];
    TRAINING_ROUTE("2.1") = "training_route_required": [F::training_route];
    ITT_START_DATE("2.1") = "itt_start_date_required": [F::itt_start_date];
    ITT_END_DATE("2.1") = "itt_end_date_required": [F::itt_end_date];
    COURSE_SUBJECT_1("2.1") = "course_subject_1_required": [F::course_subject_1];
    COURSE_AGE_RANGE("2.1") = "course_age_range_required": [F::course_age_range];
    COURSE_YEAR("2.1") = "course_year_required": [F::course_year];
    ITT_AIM("2.1") = "itt_aim_required": [F::itt_aim];
    FUND_CODE("2.1") = "fund_code_required": [F::fund_code];
    FUNDING_METHOD("2.1") = "funding_method_required": [F::funding_method];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::field::RecordField as _;

    #[test]
    fn required_rules_match_required_fields() {
        let rules = [
            FIRST_NAMES,
            LAST_NAME,
            DATE_OF_BIRTH,
            SEX,
            EMAIL,
            AGENCY_ID,
            TRAINING_ROUTE,
            ITT_START_DATE,
            ITT_END_DATE,
            COURSE_SUBJECT_1,
            COURSE_AGE_RANGE,
            COURSE_YEAR,
            ITT_AIM,
            FUND_CODE,
            FUNDING_METHOD,
        ];
        let mut fields: Vec<F> = rules
            .iter()
            .filter_map(|rule| rule.required_field())
            .collect();
        fields.sort();
        let required: Vec<F> = F::ALL
            .iter()
            .copied()
            .filter(|field| field.info().required)
            .collect();
        assert_eq!(fields, required);
    }
}
