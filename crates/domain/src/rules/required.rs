//! Fields that every trainee needs (contract, section 2.1).

use crate::rules::{Rule, Run};
use crate::trainee::{Trainee, TraineeField};

macro_rules! required {
    ($($rule:ident = $field:ident),+ $(,)?) => {
        $(
            #[doc = concat!("`", stringify!($field), "` must be there.")]
            pub const $rule: Rule<Trainee> = Rule {
                name: concat!(stringify!($field), "_required"),
                demands: "must be there",
                section: "2.1",
                reads: &[TraineeField::$field],
                run: Run::Present,
            };
        )+

        /// The fields that every trainee needs.
        pub const FIELDS: &[TraineeField] = &[$(TraineeField::$field),+];
    };
}
required! {
    FIRST_NAMES = first_names,
    LAST_NAME = last_name,
    DATE_OF_BIRTH = date_of_birth,
    SEX = sex,
    EMAIL = email,
    AGENCY_ID = agency_id,
    TRAINING_ROUTE = training_route,
    ITT_START_DATE = itt_start_date,
    ITT_END_DATE = itt_end_date,
    COURSE_SUBJECT_1 = course_subject_1,
    COURSE_AGE_RANGE = course_age_range,
    COURSE_YEAR = course_year,
    ITT_AIM = itt_aim,
    FUND_CODE = fund_code,
    FUNDING_METHOD = funding_method,
}
