//! The trainee: a person training to teach, as one provider registers them.

use std::borrow::Cow;

use crate::fields::dictionary::record;
use crate::fields::field::RecordField as _;
use crate::fields::field_set::FieldSet;
use crate::fields::value::{Boolean, Date, Document, Integer, Text, TextList, Timestamp, Value};
use crate::fields::vocabulary::{
    self, DISABILITY_NOT_PROVIDED, DISABLED, DIVERSITY_DISCLOSED, DIVERSITY_NOT_DISCLOSED,
    NO_DISABILITY,
};
use crate::lifecycle::{Action, State, TransitionError, next_state};
use crate::lists::{AgeRange, FundingMethod, List, Lists, Route};
use crate::nested_kinds;
use crate::records::record::{Change, Record as _, Stored, StoredJson};

mod nested;

pub use nested::{Borrowed, NestedForm, NestedRecord, NestedRecords, Owned, Sent};

record! {
    /// A person training to teach, as one provider registers them.
    Trainee / TraineeField / TraineeChanges named "trainee" of (), implied by implied_changes {
        inputs {
            /// The provider's own identifier of the trainee.
            provider_trainee_id: Text, max 50;
            /// Identifier of the application that led to the record, at most 7 digits.
            application_id: Text;
            /// Student identifier of the sector agency, 13 or 17 characters.
            agency_id: Text, collapse_whitespace, required;
            /// Given names, as on official documents.
            first_names: Text, max 60, collapse_whitespace, required;
            /// Further given names.
            middle_names: Text, max 60, collapse_whitespace;
            /// Family name.
            last_name: Text, max 60, collapse_whitespace, required;
            /// Family name used before.
            previous_last_name: Text, max 60;
            /// Date of birth.
            date_of_birth: Date, required;
            /// E-mail address.
            email: Text, max 255, collapse_whitespace, required;
            /// Nationality, an ISO 3166 country code.
            nationality: Text, code_of List::Nationality;
            /// Sex.
            sex: Text, code_of List::Sex, required;
            /// National Insurance number, stored as sent.
            ni_number: Text;
            /// Ethnicity; 997 stands for not provided.
            ethnicity: Text = ethnicity, code_of List::Ethnicity, never_null;
            /// Ethnic group that the ethnicity belongs to.
            ethnic_group: Text = ethnic_group, never_null;
            /// Ethnic background that the ethnicity stands for.
            ethnic_background: Text = ethnic_background, never_null;
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
            training_route: Text, code_of List::TrainingRoute, required;
            /// First subject of the course.
            course_subject_1: Text, code_of List::CourseSubject, required;
            /// Second subject of the course.
            course_subject_2: Text, code_of List::CourseSubject;
            /// Third subject of the course.
            course_subject_3: Text, code_of List::CourseSubject;
            /// Age range that the course prepares for.
            course_age_range: Text, code_of List::CourseAgeRange, required;
            /// Year of the course that the trainee is in.
            course_year: Text, max 4, required;
            /// Full time or part time.
            study_mode: Text, code_of List::StudyMode;
            /// What the training aims at: the professional status alone, or an academic award too.
            itt_aim: Text, code_of List::IttAim, required;
            /// Academic award that the training leads to.
            itt_qualification_aim: Text, code_of List::IttQualificationAim;
            /// Country of training of an iQTS trainee.
            iqts_country: Text, code_of List::Country;
            /// First day of the training as planned.
            itt_start_date: Date, required;
            /// Last day of the training as planned.
            itt_end_date: Date, required;
            /// Actual first day of the training; the planned first day if no other day was sent.
            trainee_start_date: Date = trainee_start_date;
            /// First day of the postgraduate apprenticeship.
            pg_apprenticeship_start_date: Date;
            /// Training initiative.
            training_initiative: Text, code_of List::TrainingInitiative;
            /// Second training initiative.
            additional_training_initiative: Text, code_of List::TrainingInitiative;
            /// Whether the trainee is eligible for student finance.
            fund_code: Text, code_of List::FundCode, required;
            /// Bursary, scholarship or grant.
            funding_method: Text, code_of List::FundingMethod, required;
            /// URN of the employing school.
            employing_school_urn: Text;
            /// URN of the training partner.
            training_partner_urn: Text;
            /// UKPRN of the training partner.
            training_partner_ukprn: Text;
        }
        service {
            /// Identifier of the record, made by the service; null while a request is only tried
            /// out.
            trainee_id: Text;
            /// Teacher reference number, 7 digits; null until it is issued.
            trn: Text;
            /// UKPRN of the provider that registered the trainee.
            ukprn: Text, never_null;
            /// Where the record stands between registration and award.
            state: State, one_of State::NAMES, never_null;
            /// Day of the last deferral.
            defer_date: Date;
            /// Reason of the last deferral.
            defer_reason: Text;
            /// Day of the withdrawal.
            withdrawal_date: Date;
            /// Whose decision the withdrawal was.
            withdrawal_trigger: Text, one_of vocabulary::WITHDRAWAL_TRIGGERS;
            /// Whether the trainee may want to train later.
            withdrawal_future_interest: Text, one_of vocabulary::FUTURE_INTERESTS;
            /// Reasons of the withdrawal.
            withdrawal_reasons: TextList;
            /// Reason of the withdrawal in the provider's words.
            withdrawal_another_reason: Text;
            /// What the safeguarding concerns were.
            withdrawal_safeguarding_concern_reasons: Text;
            /// Day of meeting the standards, or of another end of the training.
            outcome_date: Date;
            /// Day of a deferred trainee's return.
            reinstate_date: Date;
            /// When the record was made.
            created_at: Timestamp, never_null;
            /// When the record, a placement, a degree or a withdrawal of it changed last.
            updated_at: Timestamp, never_null;
            /// When the record was submitted for a teacher reference number.
            submitted_for_trn_at: Timestamp;
            /// When the trainee was recommended for the award.
            recommended_for_award_at: Timestamp;
            /// When the award was confirmed.
            awarded_at: Timestamp;
            /// When the record was discarded.
            discarded_at: Timestamp;
            /// When the registry acknowledged the trainee's identifier.
            slug_sent_to_registry_at: Timestamp;
            /// Where the record came from.
            record_source: Text, one_of vocabulary::RECORD_SOURCES, never_null;
            /// How far the start of the training has come.
            commencement_status: Text, one_of vocabulary::COMMENCEMENT_STATUSES;
            /// Ethnic background in the trainee's words.
            additional_ethnic_background: Text, imported;
            /// Youngest age that the course prepares for, in years.
            course_min_age: Integer = course_min_age, imported;
            /// Oldest age that the course prepares for, in years.
            course_max_age: Integer = course_max_age, imported;
            /// Title of the published course.
            course_title: Text, imported;
            /// Identifier of the published course.
            course_uuid: Text, imported;
            /// Whether the course counts towards the English Baccalaureate.
            ebacc: Boolean, imported;
            /// Region of the training.
            region: Text, imported;
            /// When the sector agency changed the record last.
            agency_updated_at: Timestamp, imported;
            /// Whether the record came from the previous service.
            created_from_legacy: Boolean, imported;
            /// Whether the record came from the sector agency.
            created_from_agency: Boolean, imported;
            /// Further data of the previous service.
            additional_legacy_data: Document, imported;
            /// Whether the sector agency may change the record.
            agency_editable: Boolean, imported;
            /// Whether placement details are known.
            placement_detail: Text, imported;
        }
        derived {
            /// Whether ethnicity or disability was disclosed.
            diversity_disclosure: Text = diversity_disclosure, one_of vocabulary::DIVERSITY_DISCLOSURES, never_null;
            /// Whether a disability was disclosed.
            disability_disclosure: Text = disability_disclosure, one_of vocabulary::DISABILITY_DISCLOSURES, never_null;
            /// Phase of education that the course prepares for.
            course_education_phase: Text = course_education_phase, one_of vocabulary::PHASES, never_null;
            /// Professional status that the course leads to.
            course_qualification: Text = course_qualification, one_of vocabulary::QUALIFICATIONS, never_null;
            /// Level of the course.
            course_level: Text = course_level, one_of vocabulary::LEVELS, never_null;
            /// First day of the course, a copy of the planned first day of the training.
            course_itt_start_date: Date = course_itt_start_date;
            /// Whether the trainee applies for a bursary.
            applying_for_bursary: Boolean = applying_for_bursary;
            /// Whether the trainee applies for a scholarship.
            applying_for_scholarship: Boolean = applying_for_scholarship;
            /// Whether the trainee applies for a grant.
            applying_for_grant: Boolean = applying_for_grant;
            /// Tier of the bursary.
            bursary_tier: Text = bursary_tier, one_of vocabulary::BURSARY_TIERS;
            /// Whether there is no training partner.
            training_partner_not_applicable: Boolean = training_partner_not_applicable;
            /// Whether there is no employing school.
            employing_school_not_applicable: Boolean = employing_school_not_applicable;
            /// Whether the record has everything that a submission needs.
            submission_ready: Boolean = submission_ready;
        }
        nested FlatTrainee + NestedRecords of nested_kinds
    }
}

/// The fields of the three subjects of a course, in order.
pub const SUBJECTS: [TraineeField; 3] = [
    TraineeField::course_subject_1,
    TraineeField::course_subject_2,
    TraineeField::course_subject_3,
];

/// The fields of the nine disabilities, in order.
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
    /// Returns the state. A record without a state is a draft.
    #[must_use]
    pub fn state_or_draft(&self) -> State {
        self.state.unwrap_or(State::Draft)
    }

    /// Returns the state after an action.
    ///
    /// # Errors
    ///
    /// [`TransitionError`] if the state does not allow the action.
    pub fn next_state(&self, action: Action) -> Result<State, TransitionError> {
        next_state(self.state_or_draft(), action, self.trn.is_some())
    }
}

/// Returns the codes of the three subjects of the course, in order.
#[must_use]
pub fn subject_codes(trainee: &dyn Stored<Trainee>) -> [Option<String>; 3] {
    SUBJECTS.map(|field| trainee.get(field))
}

/// Returns the actual start date of the training, else the planned one.
#[must_use]
pub fn start_date(trainee: &dyn Stored<Trainee>) -> Option<Date> {
    trainee.get(start_date_field(trainee)?)
}

/// Returns the field with the start date of the training; `None` if neither field has a value.
#[must_use]
pub fn start_date_field(trainee: &dyn Stored<Trainee>) -> Option<TraineeField> {
    [
        TraineeField::trainee_start_date,
        TraineeField::itt_start_date,
    ]
    .into_iter()
    .find(|field| trainee.has(*field))
}

/// Implements `Record::implied_changes`. Null can have an effect although no value is stored in the
/// field: null for a number of the training partner removes the link, and null for the ethnic group
/// or background runs the rule about the ethnicity.
fn implied_changes(
    stored: &FlatTrainee,
    changes: &TraineeChanges,
    _: &FieldSet<TraineeField>,
    _: &Lists,
) -> &'static [TraineeField] {
    use TraineeField as F;
    let clears_ethnicity = clears(&changes.ethnic_group) || clears(&changes.ethnic_background);
    match (removes_partner(stored, changes), clears_ethnicity) {
        (true, true) => &[
            F::training_partner_urn,
            F::training_partner_ukprn,
            F::ethnic_group,
            F::ethnic_background,
        ],
        (true, false) => &[F::training_partner_urn, F::training_partner_ukprn],
        (false, true) => &[F::ethnic_group, F::ethnic_background],
        (false, false) => &[],
    }
}

fn clears(change: &Change<Text>) -> bool {
    matches!(change, Change::Clear | Change::Blank)
}

/// Whether the request removes the link to the training partner: it sends the URN, the UKPRN or
/// both as blank or null, and neither as a number. Null for a number that the partner does not have
/// also removes the link. A sent number keeps the link, even if the record already shows this
/// number, so that clients can send back a whole record.
fn removes_partner(stored: &FlatTrainee, changes: &TraineeChanges) -> bool {
    let urn = &changes.training_partner_urn;
    let ukprn = &changes.training_partner_ukprn;
    let is_linked =
        stored.training_partner_urn.is_some() || stored.training_partner_ukprn.is_some();
    let sends_number = matches!(urn, Change::Set(_)) || matches!(ukprn, Change::Set(_));
    is_linked && !sends_number && (clears(urn) || clears(ukprn))
}

/// The ethnicity code for "not provided".
pub const ETHNICITY_NOT_PROVIDED: &str = "997";
/// The ethnic group for "not provided".
const GROUP_NOT_PROVIDED: &str = "not_provided_ethnic_group";
/// The oldest age of the primary phase, in years.
pub const PRIMARY_MAX_AGE: i64 = 11;

fn ethnicity<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    Value::Text(ethnicity_code(trainee))
}

fn ethnic_group<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(
        lists
            .ethnicity(&ethnicity_code(trainee))
            .map(|ethnicity| ethnicity.group.as_str()),
    )
}

fn ethnic_background<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(
        lists
            .ethnicity(&ethnicity_code(trainee))
            .map(|ethnicity| ethnicity.background.as_str()),
    )
}

/// Whether the ethnicity means "not provided".
pub(crate) fn is_ethnicity_not_provided(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    lists
        .ethnicity(&ethnicity_code(trainee))
        .is_none_or(|found| found.group == GROUP_NOT_PROVIDED)
}

fn disability_disclosure<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(disclosed_disability(trainee, lists))
}

fn diversity_disclosure<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let has_ethnicity = !is_ethnicity_not_provided(trainee, lists);
    let has_disability_status = disclosed_disability(trainee, lists) != DISABILITY_NOT_PROVIDED;
    Value::text(if has_ethnicity || has_disability_status {
        DIVERSITY_DISCLOSED
    } else {
        DIVERSITY_NOT_DISCLOSED
    })
}

fn trainee_start_date<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    trainee
        .stored(TraineeField::trainee_start_date)
        .or_else(|| trainee.stored(TraineeField::itt_start_date))
}

fn course_itt_start_date<'a>(trainee: &'a dyn Stored<Trainee>, _: &'a Lists) -> Value<'a> {
    trainee.stored(TraineeField::itt_start_date)
}

fn course_min_age<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let range = age_range(trainee, lists);
    range.map_or_else(
        || trainee.stored(TraineeField::course_min_age),
        |range| Value::Integer(range.min_age),
    )
}

fn course_max_age<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    max_age(trainee, lists).map_or(Value::Null, Value::Integer)
}

fn course_education_phase<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(if is_early_years(trainee, lists) {
        "early_years"
    } else if max_age(trainee, lists).is_some_and(|age| age <= PRIMARY_MAX_AGE) {
        "primary"
    } else {
        "secondary"
    })
}

fn course_qualification<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(route(trainee, lists).map_or("QTS", |route| route.qualification))
}

fn course_level<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::text(route(trainee, lists).map_or("postgrad", |route| route.level))
}

fn applying_for_bursary<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Boolean(funding_type(trainee, lists) == Some("bursary"))
}

fn applying_for_scholarship<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Boolean(funding_type(trainee, lists) == Some("scholarship"))
}

fn applying_for_grant<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::Boolean(funding_type(trainee, lists) == Some("grant"))
}

fn bursary_tier<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    Value::optional(
        funding_method(trainee, lists).and_then(|method| method.bursary_tier.as_deref()),
    )
}

fn training_partner_not_applicable<'a>(
    trainee: &'a dyn Stored<Trainee>,
    _: &'a Lists,
) -> Value<'a> {
    Value::Boolean(
        !trainee.has(TraineeField::training_partner_urn)
            && !trainee.has(TraineeField::training_partner_ukprn),
    )
}

fn employing_school_not_applicable<'a>(
    trainee: &'a dyn Stored<Trainee>,
    _: &'a Lists,
) -> Value<'a> {
    Value::Boolean(!trainee.has(TraineeField::employing_school_urn))
}

/// Whether the record has all fields that every version requires. The API accepts only such
/// records; imported records can lack some fields.
fn submission_ready<'a>(trainee: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Value<'a> {
    let mut required = TraineeField::ALL
        .iter()
        .filter(|field| field.info().required);
    Value::Boolean(required.all(|field| has_shown_value(trainee, *field, lists)))
}

/// Whether responses show a value in the field. Stored JSON is not parsed if it is shown unchanged.
fn has_shown_value(trainee: &dyn Stored<Trainee>, field: TraineeField, lists: &Lists) -> bool {
    match trainee.json(field) {
        StoredJson::Text(_) if field.is_shown_as_stored() => true,
        StoredJson::Text(_) | StoredJson::Null | StoredJson::Unavailable => {
            Trainee::shown(trainee, field, lists) != Value::Null
        }
    }
}

/// Whether the route is an early years route.
#[must_use]
pub fn is_early_years(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    route(trainee, lists).is_some_and(|route| route.early_years)
}

/// Whether the age range is in the primary phase. The age range 0 to 5 is not.
fn has_primary_ages(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    age_range(trainee, lists)
        .is_some_and(|range| range.max_age <= PRIMARY_MAX_AGE && range.min_age > 0)
}

/// Whether the course is a primary course: its age range is in the primary phase and its route is
/// not an early years route (contract, section 2.1.5).
#[must_use]
pub fn is_primary_course(trainee: &dyn Stored<Trainee>, lists: &Lists) -> bool {
    has_primary_ages(trainee, lists) && !is_early_years(trainee, lists)
}

/// Returns the oldest age that the course prepares for, in years, or `None` if it is unknown.
#[must_use]
pub fn max_age(trainee: &dyn Stored<Trainee>, lists: &Lists) -> Option<i64> {
    age_range(trainee, lists).map_or_else(
        || trainee.get(TraineeField::course_max_age),
        |range| Some(range.max_age),
    )
}

/// Returns the type of the trainee's funding, or `None` without funding.
#[must_use]
pub fn funding_type<'a>(trainee: &dyn Stored<Trainee>, lists: &'a Lists) -> Option<&'a str> {
    funding_method(trainee, lists)?.funding_type.as_deref()
}

/// Returns the facts about the trainee's route, or `None` if the route is missing or unknown.
#[must_use]
pub fn route<'a>(trainee: &dyn Stored<Trainee>, lists: &'a Lists) -> Option<&'a Route> {
    lists.route(&trainee.text(TraineeField::training_route)?)
}

fn age_range(trainee: &dyn Stored<Trainee>, lists: &Lists) -> Option<AgeRange> {
    lists.age_range(&trainee.text(TraineeField::course_age_range)?)
}

fn funding_method<'a>(
    trainee: &dyn Stored<Trainee>,
    lists: &'a Lists,
) -> Option<&'a FundingMethod> {
    lists.funding_method(&trainee.text(TraineeField::funding_method)?)
}

fn ethnicity_code(trainee: &dyn Stored<Trainee>) -> Cow<'_, str> {
    trainee
        .text(TraineeField::ethnicity)
        .unwrap_or(Cow::Borrowed(ETHNICITY_NOT_PROVIDED))
}

/// Returns the disclosure that all disability codes of the trainee have in common, else "disabled".
/// Without codes, returns "not provided".
fn disclosed_disability(trainee: &dyn Stored<Trainee>, lists: &Lists) -> &'static str {
    // A trainee without codes gets the first disclosure, because `all` is true for no codes.
    for disclosure in [DISABILITY_NOT_PROVIDED, NO_DISABILITY] {
        let mut codes = DISABILITIES.iter().filter_map(|field| trainee.text(*field));
        if codes.all(|code| lists.disclosure(&code) == Some(disclosure)) {
            return disclosure;
        }
    }
    DISABLED
}
