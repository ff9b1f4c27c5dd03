//! The trainee: a person training to teach, as one provider registers them.

use crate::degree::Degree;
use crate::derivation as derive;
use crate::dictionary::{Change, record};
use crate::field_set::FieldSet;
use crate::lifecycle::State;
use crate::lists::{List, Lists};
use crate::placement::Placement;
use crate::value::{Date, Document, Flag, Integer, Moment, Text, Texts};

/// Where a record came from.
pub const RECORD_SOURCES: &[&str] =
    &["api", "manual", "csv", "apply", "legacy", "agency_collection", "agency_trn_data"];

/// How far the start of the training has come, on records that say so.
pub const COMMENCEMENT_STATUSES: &[&str] = &["itt_started_on_time", "itt_started_later", "itt_not_yet_started"];

record! {
    /// A person training to teach, as one provider registers them.
    Trainee / TraineeField / TraineeChanges named "trainee" of (), implied by removed_partner {
        inputs {
            /// The provider's own identifier of the trainee.
            provider_trainee_id: Text, max 50;
            /// Identifier of the application that led to the record, at most 7 digits.
            application_id: Text;
            /// Student identifier of the sector agency, 13 or 17 characters.
            agency_id: Text, tidied;
            /// Given names, as on official documents.
            first_names: Text, max 60, tidied;
            /// Further given names.
            middle_names: Text, max 60, tidied;
            /// Family name.
            last_name: Text, max 60, tidied;
            /// Family name used before.
            previous_last_name: Text, max 60;
            /// Date of birth.
            date_of_birth: Date;
            /// E-mail address.
            email: Text, max 255, tidied;
            /// Nationality, an ISO 3166 country code.
            nationality: Text, code_of List::Nationality;
            /// Sex.
            sex: Text, code_of List::Sex;
            /// National Insurance number, stored as sent.
            ni_number: Text;
            /// Ethnicity; 997 stands for not provided.
            ethnicity: Text = derive::ethnicity, code_of List::Ethnicity, always;
            /// Ethnic group that the ethnicity belongs to.
            ethnic_group: Text = derive::ethnic_group, always;
            /// Ethnic background that the ethnicity stands for.
            ethnic_background: Text = derive::ethnic_background, always;
            /// First disability.
            disability1: Text, code_of List::Disability;
            /// Second disability.
            disability2: Text, code_of List::Disability;
            /// Third disability.
            disability3: Text, code_of List::Disability;
            /// Fourth disability.
            disability4: Text, code_of List::Disability;
            /// Fifth disability.
            disability5: Text, code_of List::Disability;
            /// Sixth disability.
            disability6: Text, code_of List::Disability;
            /// Seventh disability.
            disability7: Text, code_of List::Disability;
            /// Eighth disability.
            disability8: Text, code_of List::Disability;
            /// Ninth disability.
            disability9: Text, code_of List::Disability;
            /// Training route.
            training_route: Text, code_of List::TrainingRoute;
            /// First subject of the course.
            course_subject_1: Text, code_of List::CourseSubject;
            /// Second subject of the course.
            course_subject_2: Text, code_of List::CourseSubject;
            /// Third subject of the course.
            course_subject_3: Text, code_of List::CourseSubject;
            /// Age range that the course prepares for.
            course_age_range: Text, code_of List::CourseAgeRange;
            /// Year of the course that the trainee is in.
            course_year: Text, max 4;
            /// Full time or part time.
            study_mode: Text, code_of List::StudyMode;
            /// What the training aims at: the professional status alone, or an academic award too.
            itt_aim: Text, code_of List::IttAim;
            /// Academic award that the training leads to.
            itt_qualification_aim: Text, code_of List::IttQualificationAim;
            /// Country in which an iQTS trainee trains.
            iqts_country: Text, code_of List::Country;
            /// First day of the training as planned.
            itt_start_date: Date;
            /// Last day of the training as planned.
            itt_end_date: Date;
            /// Day on which the trainee started; the planned first day where nothing else was sent.
            trainee_start_date: Date = derive::trainee_start_date;
            /// First day of the postgraduate apprenticeship.
            pg_apprenticeship_start_date: Date;
            /// Training initiative.
            training_initiative: Text, code_of List::TrainingInitiative;
            /// Second training initiative.
            additional_training_initiative: Text, code_of List::TrainingInitiative;
            /// Whether the trainee is eligible for student finance.
            fund_code: Text, code_of List::FundCode;
            /// Bursary, scholarship or grant.
            funding_method: Text, code_of List::FundingMethod;
            /// URN of the employing school.
            employing_school_urn: Text;
            /// URN of the training partner.
            training_partner_urn: Text;
            /// UKPRN of the training partner.
            training_partner_ukprn: Text;
        }
        service {
            /// Identifier of the record, made by the service; null while a request is only tried out.
            trainee_id: Text;
            /// Teacher reference number, 7 digits; null until it is issued.
            trn: Text;
            /// UKPRN of the provider that registered the trainee.
            ukprn: Text, always;
            /// Where the record stands between registration and award.
            state: State, one_of State::NAMES, always;
            /// Day of the last deferral.
            defer_date: Date;
            /// Reason of the last deferral.
            defer_reason: Text;
            /// Day of the withdrawal.
            withdrawal_date: Date;
            /// Whose decision the withdrawal was.
            withdrawal_trigger: Text, one_of crate::transition::TRIGGERS;
            /// Whether the trainee may want to train later.
            withdrawal_future_interest: Text, one_of crate::transition::FUTURE_INTERESTS;
            /// Reasons of the withdrawal.
            withdrawal_reasons: Texts;
            /// Reason of the withdrawal in the provider's words.
            withdrawal_another_reason: Text;
            /// What the safeguarding concerns were.
            withdrawal_safeguarding_concern_reasons: Text;
            /// Day on which the standards were met, or on which the training ended otherwise.
            outcome_date: Date;
            /// Day on which a deferred trainee came back.
            reinstate_date: Date;
            /// When the record was made.
            created_at: Moment, always;
            /// When the record, a placement, a degree or a withdrawal of it changed last.
            updated_at: Moment, always;
            /// When the record was submitted for a teacher reference number.
            submitted_for_trn_at: Moment;
            /// When the trainee was recommended for the award.
            recommended_for_award_at: Moment;
            /// When the award was confirmed.
            awarded_at: Moment;
            /// When the record was discarded.
            discarded_at: Moment;
            /// When the registry acknowledged the trainee's identifier.
            slug_sent_to_registry_at: Moment;
            /// Where the record came from.
            record_source: Text, one_of RECORD_SOURCES, always;
            /// How far the start of the training has come.
            commencement_status: Text, one_of COMMENCEMENT_STATUSES;
            /// Ethnic background in the trainee's words.
            additional_ethnic_background: Text, imported;
            /// Youngest age that the course prepares for, in years.
            course_min_age: Integer = derive::course_min_age, imported;
            /// Oldest age that the course prepares for, in years.
            course_max_age: Integer = derive::course_max_age, imported;
            /// Title of the published course.
            course_title: Text, imported;
            /// Identifier of the published course.
            course_uuid: Text, imported;
            /// Whether the course counts towards the English Baccalaureate.
            ebacc: Flag, imported;
            /// Region of the training.
            region: Text, imported;
            /// When the sector agency changed the record last.
            agency_updated_at: Moment, imported;
            /// Whether the record came from the service before this one.
            created_from_legacy: Flag, imported;
            /// Whether the record came from the sector agency.
            created_from_agency: Flag, imported;
            /// What the service before this one knew besides.
            additional_legacy_data: Document, imported;
            /// Whether the sector agency may change the record.
            agency_editable: Flag, imported;
            /// Whether placement details are known.
            placement_detail: Text, imported;
        }
        derived {
            /// Whether ethnicity or disability was disclosed.
            diversity_disclosure: Text = derive::diversity_disclosure, one_of derive::DIVERSITY_DISCLOSURES, always;
            /// Whether a disability was disclosed.
            disability_disclosure: Text = derive::disability_disclosure, one_of derive::DISABILITY_DISCLOSURES, always;
            /// Phase of education that the course prepares for.
            course_education_phase: Text = derive::course_education_phase, one_of derive::PHASES, always;
            /// Professional status that the course leads to.
            course_qualification: Text = derive::course_qualification, one_of derive::QUALIFICATIONS, always;
            /// Level of the course.
            course_level: Text = derive::course_level, one_of derive::LEVELS, always;
            /// First day of the course, a copy of the planned first day of the training.
            course_itt_start_date: Date = derive::course_itt_start_date;
            /// Whether the trainee applies for a bursary.
            applying_for_bursary: Flag = derive::applying_for_bursary;
            /// Whether the trainee applies for a scholarship.
            applying_for_scholarship: Flag = derive::applying_for_scholarship;
            /// Whether the trainee applies for a grant.
            applying_for_grant: Flag = derive::applying_for_grant;
            /// Tier of the bursary.
            bursary_tier: Text = derive::bursary_tier, one_of derive::BURSARY_TIERS;
            /// Whether there is no training partner.
            training_partner_not_applicable: Flag = derive::training_partner_not_applicable;
            /// Whether there is no employing school.
            employing_school_not_applicable: Flag = derive::employing_school_not_applicable;
            /// Whether the record has everything that a submission needs.
            submission_ready: Flag = derive::submission_ready;
        }
        nested {
            /// Placements in schools, oldest first.
            placements: Placement = crate::Value::placements;
            /// Degrees held before the training, by year of graduation.
            degrees: Degree = crate::Value::degrees;
        }
    }
}

/// The three subjects of a course, in order.
pub const SUBJECTS: [TraineeField; 3] =
    [TraineeField::course_subject_1, TraineeField::course_subject_2, TraineeField::course_subject_3];

/// The nine disabilities, in order.
pub const DISABILITIES: [TraineeField; 9] = [
    TraineeField::disability1,
    TraineeField::disability2,
    TraineeField::disability3,
    TraineeField::disability4,
    TraineeField::disability5,
    TraineeField::disability6,
    TraineeField::disability7,
    TraineeField::disability8,
    TraineeField::disability9,
];

impl Trainee {
    /// The three subjects of the course, in order.
    #[must_use]
    pub fn subjects(&self) -> [Option<&str>; 3] {
        [&self.course_subject_1, &self.course_subject_2, &self.course_subject_3].map(Option::as_deref)
    }

    /// The nine disabilities, in order.
    #[must_use]
    pub fn disabilities(&self) -> [Option<&str>; 9] {
        [
            &self.disability1,
            &self.disability2,
            &self.disability3,
            &self.disability4,
            &self.disability5,
            &self.disability6,
            &self.disability7,
            &self.disability8,
            &self.disability9,
        ]
        .map(Option::as_deref)
    }

    /// The nine disabilities, in order, to be set.
    pub fn disabilities_mut(&mut self) -> [&mut Option<Text>; 9] {
        [
            &mut self.disability1,
            &mut self.disability2,
            &mut self.disability3,
            &mut self.disability4,
            &mut self.disability5,
            &mut self.disability6,
            &mut self.disability7,
            &mut self.disability8,
            &mut self.disability9,
        ]
    }

    /// The day on which the training started or is to start: as sent, else as planned.
    #[must_use]
    pub fn start_date(&self) -> Option<Date> {
        self.trainee_start_date.or(self.itt_start_date)
    }
}

/// The link to a training partner is removed when every key of it that is sent is blank, also the key of a number that
/// the partner does not have. A number that is sent keeps the link, also the one that is shown: a whole record can be
/// sent back.
fn removed_partner(
    stored: &Trainee,
    changes: &TraineeChanges,
    _: &FieldSet<TraineeField>,
    _: &Lists,
) -> &'static [TraineeField] {
    let keys = [&changes.training_partner_urn, &changes.training_partner_ukprn];
    let blank = |key: &&Change<Text>| matches!(key, Change::Clear | Change::Blank);
    let kept = |key: &&Change<Text>| matches!(key, Change::Set(_));
    let linked = stored.training_partner_urn.is_some() || stored.training_partner_ukprn.is_some();
    if linked && keys.iter().any(blank) && !keys.iter().any(kept) {
        &[TraineeField::training_partner_urn, TraineeField::training_partner_ukprn]
    } else {
        &[]
    }
}
