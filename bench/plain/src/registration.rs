//! A new trainee: its request in v2026.1, what is checked, and the record that follows.

use std::collections::HashMap;

use chrono::{Datelike as _, Months, NaiveDate};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::identifier;
use crate::records::{Degree, FullTrainee, Placement, Time, Trainee};
use crate::reference::{LISTS, Route};
use crate::views::DISABILITIES;
use rules::{course, dates, degree, funding, personal, placement};

mod rules;

const VETERANS_BURSARY: &str = "C";
const NO_SCHOOL: [&str; 4] = ["900000", "900010", "900020", "900030"];
const UK: [&str; 6] = ["GB", "XF", "XG", "XH", "XI", "XK"];
const MAX_NESTED: usize = 100;
/// Years with funding without student finance, and the subjects with such funding.
const EXCEPTION_YEARS: [i64; 2] = [2025, 2026];
const EXCEPTION_SUBJECTS: [&str; 6] = [
    "Ancient languages",
    "Modern languages",
    "French language",
    "German language",
    "Spanish language",
    "Physics",
];

/// The body of a request.
#[derive(Debug, Deserialize)]
pub(crate) struct Body {
    pub(crate) data: Registration,
}

/// The fields of a new trainee in v2026.1.
#[derive(Debug, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct Registration {
    provider_trainee_id: Option<String>,
    application_id: Option<String>,
    agency_id: Option<String>,
    first_names: Option<String>,
    middle_names: Option<String>,
    last_name: Option<String>,
    previous_last_name: Option<String>,
    date_of_birth: Option<String>,
    email: Option<String>,
    nationality: Option<String>,
    sex: Option<String>,
    ni_number: Option<String>,
    ethnicity: Option<String>,
    disability1: Option<String>,
    disability2: Option<String>,
    disability3: Option<String>,
    disability4: Option<String>,
    disability5: Option<String>,
    disability6: Option<String>,
    disability7: Option<String>,
    disability8: Option<String>,
    disability9: Option<String>,
    training_route: Option<String>,
    course_subject_1: Option<String>,
    course_subject_2: Option<String>,
    course_subject_3: Option<String>,
    course_age_range: Option<String>,
    course_year: Option<String>,
    study_mode: Option<String>,
    itt_aim: Option<String>,
    itt_qualification_aim: Option<String>,
    iqts_country: Option<String>,
    itt_start_date: Option<String>,
    itt_end_date: Option<String>,
    trainee_start_date: Option<String>,
    pg_apprenticeship_start_date: Option<String>,
    training_initiative: Option<String>,
    additional_training_initiative: Option<String>,
    fund_code: Option<String>,
    funding_method: Option<String>,
    pub(crate) employing_school_urn: Option<String>,
    pub(crate) training_partner_urn: Option<String>,
    pub(crate) training_partner_ukprn: Option<String>,
    pub(crate) placements_attributes: Vec<NewPlacement>,
    degrees_attributes: Vec<NewDegree>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub(crate) struct NewPlacement {
    pub(crate) urn: Option<String>,
    name: Option<String>,
    postcode: Option<String>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
struct NewDegree {
    uk_degree: Option<String>,
    non_uk_degree: Option<String>,
    subject: Option<String>,
    institution: Option<String>,
    graduation_year: Option<String>,
    grade: Option<String>,
    country: Option<String>,
}

/// What the database knows of the organisations that a request names.
#[derive(Debug, Default)]
pub(crate) struct Organisations {
    /// Name and postcode of a school by its URN.
    pub(crate) schools: HashMap<String, (String, Option<String>)>,
    /// URN and UKPRN of the training partner.
    pub(crate) partner: Option<(Option<String>, Option<String>)>,
}

/// A value that is not accepted.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    error: &'static str,
    message: String,
    code: &'static str,
    field: String,
}

/// The problems found so far, and the part of the request that is checked.
#[derive(Default)]
struct Check {
    problems: Vec<Problem>,
    /// Before the name of a field: empty, or the item of an array.
    item: String,
}

impl Check {
    fn problem(&mut self, field: &str, code: &'static str, text: &str) {
        let field = format!("{}{field}", self.item);
        self.problems.push(Problem {
            error: "UnprocessableEntity",
            message: format!("{field} {text}"),
            code,
            field,
        });
    }

    fn unless(&mut self, accepted: bool, field: &str, code: &'static str, text: &str) {
        if !accepted {
            self.problem(field, code, text);
        }
    }

    /// Returns a text of at most `length` characters; `None` if it is absent or blank.
    fn text(&mut self, field: &str, value: Option<String>, length: usize) -> Option<String> {
        let value = value.filter(|text| !text.trim().is_empty())?;
        if value.len() > length && value.chars().count() > length {
            self.problem(field, "too_long", "is too long");
        }
        Some(value)
    }

    /// Like `text`, with single spaces, and required.
    fn line(&mut self, field: &str, value: Option<String>, length: usize) -> String {
        let words: Vec<&str> = value
            .iter()
            .flat_map(|text| text.split_whitespace())
            .collect();
        let line = self.text(field, Some(words.join(" ")), length);
        self.required(field, line)
    }

    fn required(&mut self, field: &str, value: Option<String>) -> String {
        self.unless(value.is_some(), field, "blank", "cannot be blank");
        value.unwrap_or_default()
    }

    /// Returns a code of a list; `None` if it is absent or blank.
    fn code<T>(
        &mut self,
        field: &str,
        value: Option<String>,
        list: &HashMap<String, T>,
    ) -> Option<String> {
        let code = value.filter(|text| !text.trim().is_empty())?;
        self.unless(
            list.contains_key(&code),
            field,
            "unknown_code",
            "is not in the list",
        );
        Some(code)
    }

    fn date(&mut self, field: &str, value: Option<String>) -> Option<NaiveDate> {
        let text = value.filter(|text| !text.trim().is_empty())?;
        let date = text.parse().ok();
        self.unless(date.is_some(), field, "not_a_date", "is not a date");
        date
    }

    fn required_date(&mut self, field: &str, value: Option<String>) -> NaiveDate {
        if value.as_deref().is_none_or(|text| text.trim().is_empty()) {
            self.problem(field, "blank", "cannot be blank");
        }
        self.date(field, value).unwrap_or_default()
    }
}

/// Returns the record of a new trainee, or all problems of the request.
pub(crate) fn check(
    mut new: Registration,
    ukprn: &str,
    organisations: &Organisations,
) -> Result<FullTrainee, Vec<Problem>> {
    let mut check = Check::default();
    let now = Time::now();
    let today = today();
    let disabilities = disabilities(&mut check, &mut new);
    let placements = std::mem::take(&mut new.placements_attributes);
    let degrees = std::mem::take(&mut new.degrees_attributes);
    let itt_start_date = check.required_date("itt_start_date", new.itt_start_date);
    let partner = organisations.partner.clone().unwrap_or_default();
    let trainee = Trainee {
        trainee_id: identifier(),
        ukprn: ukprn.to_owned(),
        provider_trainee_id: check.text("provider_trainee_id", new.provider_trainee_id, 50),
        application_id: check.text("application_id", new.application_id, 7),
        agency_id: check.line("agency_id", new.agency_id, 17),
        trn: None,
        first_names: check.line("first_names", new.first_names, 60),
        middle_names: check.text("middle_names", new.middle_names, 60),
        last_name: check.line("last_name", new.last_name, 60),
        previous_last_name: check.text("previous_last_name", new.previous_last_name, 60),
        date_of_birth: check.required_date("date_of_birth", new.date_of_birth),
        email: check.line("email", new.email, 255),
        nationality: check.code("nationality", new.nationality, &LISTS.nationality),
        sex: {
            let sex = check.code("sex", new.sex, &LISTS.sex);
            check.required("sex", sex)
        },
        ni_number: check.text("ni_number", new.ni_number, 255),
        ethnicity: check
            .code("ethnicity", new.ethnicity, &LISTS.ethnicity)
            .unwrap_or_else(|| "997".to_owned()),
        disabilities,
        training_route: {
            let route = check.code("training_route", new.training_route, &LISTS.training_route);
            check.required("training_route", route)
        },
        course_subject_1: {
            let list = &LISTS.course_subject;
            let subject = check.code("course_subject_1", new.course_subject_1, list);
            check.required("course_subject_1", subject)
        },
        course_subject_2: check.code(
            "course_subject_2",
            new.course_subject_2,
            &LISTS.course_subject,
        ),
        course_subject_3: check.code(
            "course_subject_3",
            new.course_subject_3,
            &LISTS.course_subject,
        ),
        course_age_range: {
            let list = &LISTS.course_age_range;
            let ages = check.code("course_age_range", new.course_age_range, list);
            check.required("course_age_range", ages)
        },
        course_year: {
            let year = check.text("course_year", new.course_year, 4);
            check.required("course_year", year)
        },
        study_mode: check.code("study_mode", new.study_mode, &LISTS.study_mode),
        itt_aim: {
            let aim = check.code("itt_aim", new.itt_aim, &LISTS.itt_aim);
            check.required("itt_aim", aim)
        },
        itt_qualification_aim: check.code(
            "itt_qualification_aim",
            new.itt_qualification_aim,
            &LISTS.itt_qualification_aim,
        ),
        iqts_country: check.code("iqts_country", new.iqts_country, &LISTS.country),
        itt_start_date,
        itt_end_date: check.required_date("itt_end_date", new.itt_end_date),
        trainee_start_date: check
            .date("trainee_start_date", new.trainee_start_date)
            .unwrap_or(itt_start_date),
        outcome_date: None,
        reinstate_date: None,
        pg_apprenticeship_start_date: check.date(
            "pg_apprenticeship_start_date",
            new.pg_apprenticeship_start_date,
        ),
        created_at: now,
        updated_at: now,
        submitted_for_trn_at: Some(now),
        recommended_for_award_at: None,
        awarded_at: None,
        slug_sent_to_registry_at: None,
        training_initiative: check.code(
            "training_initiative",
            new.training_initiative,
            &LISTS.training_initiative,
        ),
        additional_training_initiative: check.code(
            "additional_training_initiative",
            new.additional_training_initiative,
            &LISTS.training_initiative,
        ),
        fund_code: {
            let code = check.code("fund_code", new.fund_code, &LISTS.fund_code);
            check.required("fund_code", code)
        },
        funding_method: {
            let method = check.code("funding_method", new.funding_method, &LISTS.funding_method);
            check.required("funding_method", method)
        },
        employing_school_urn: new.employing_school_urn.filter(|urn| is_school(urn)),
        training_partner_urn: partner.0,
        training_partner_ukprn: partner.1,
        state: "submitted_for_trn".to_owned(),
        defer_date: None,
        defer_reason: None,
        withdrawal_date: None,
        withdrawal_trigger: None,
        withdrawal_future_interest: None,
        withdrawal_reasons: String::new(),
        withdrawal_another_reason: None,
        withdrawal_safeguarding_concern_reasons: None,
    };
    personal(&mut check, &trainee, today);
    dates(&mut check, &trainee, today);
    if let Some(route) = LISTS.training_route.get(&trainee.training_route) {
        course(&mut check, &trainee, route);
        funding(&mut check, &trainee, route);
    }
    if let Some(urn) = &trainee.employing_school_urn {
        let is_known = organisations.schools.contains_key(urn);
        check.unless(is_known, "employing_school_urn", "unknown", "is not known");
    }
    let placements = nested(
        &mut check,
        "placements_attributes",
        placements,
        |check, new| placement(check, new, organisations, now),
    );
    let degrees = nested(&mut check, "degrees_attributes", degrees, |check, new| {
        degree(check, new, today, now)
    });
    if check.problems.is_empty() {
        Ok(FullTrainee {
            trainee: shown(trainee),
            placements,
            degrees,
        })
    } else {
        Err(check.problems)
    }
}

/// The veterans' bursary implies the initiative, which is not stored.
fn shown(trainee: Trainee) -> Trainee {
    let initiative = trainee
        .training_initiative
        .filter(|_| trainee.funding_method != VETERANS_BURSARY);
    Trainee {
        training_initiative: initiative,
        ..trainee
    }
}

/// Returns the records of a nested array.
fn nested<T, R>(
    check: &mut Check,
    name: &str,
    items: Vec<T>,
    mut record: impl FnMut(&mut Check, T) -> R,
) -> Vec<R> {
    let few = items.len() <= MAX_NESTED;
    check.unless(few, name, "too_many", "can have 100 items at most");
    let mut records = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        check.item = format!("{name}[{number}].");
        records.push(record(check, item));
    }
    check.item.clear();
    records
}

fn disabilities(check: &mut Check, new: &mut Registration) -> String {
    let codes: [Option<String>; DISABILITIES] = [
        new.disability1.take(),
        new.disability2.take(),
        new.disability3.take(),
        new.disability4.take(),
        new.disability5.take(),
        new.disability6.take(),
        new.disability7.take(),
        new.disability8.take(),
        new.disability9.take(),
    ];
    let mut joined = String::new();
    for (position, code) in (1..).zip(codes) {
        let code = code.filter(|code| !code.is_empty());
        if let Some(code) = &code {
            let field = format!("disability{position}");
            let is_new = !joined.split(',').any(|other| other == code);
            check.unless(is_new, &field, "same_as", "must differ from the others");
            check.code(&field, Some(code.clone()), &LISTS.disability);
        }
        if position > 1 {
            joined.push(',');
        }
        joined.push_str(code.as_deref().unwrap_or_default());
    }
    joined.truncate(joined.trim_end_matches(',').len());
    joined
}

/// What tells whether two records are of the same person on the same training.
#[derive(Debug)]
pub(crate) struct DuplicateKey {
    pub(crate) academic_cycle: i64,
    pub(crate) last_name: String,
    pub(crate) first_names: String,
    pub(crate) email: String,
}

impl DuplicateKey {
    pub(crate) fn from_trainee(trainee: &Trainee) -> Self {
        Self {
            academic_cycle: academic_cycle(trainee.trainee_start_date),
            last_name: trainee
                .last_name
                .nfkc()
                .flat_map(char::to_lowercase)
                .map(plain_apostrophe)
                .collect(),
            first_names: trainee
                .first_names
                .nfkd()
                .filter(|character| character.is_alphanumeric() || *character == ' ')
                .flat_map(char::to_lowercase)
                .collect(),
            email: trainee.email.to_lowercase(),
        }
    }
}

fn plain_apostrophe(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{2bb}' | '\u{2bc}' => '\'',
        other => other,
    }
}

/// Whether a URN names a school.
pub(crate) fn is_school(urn: &str) -> bool {
    !urn.trim().is_empty() && !NO_SCHOOL.contains(&urn)
}

/// Returns the first year of the academic year of a day.
pub(crate) fn academic_cycle(day: NaiveDate) -> i64 {
    let year = i64::from(day.year());
    if day.month() >= 8 { year } else { year - 1 }
}

pub(crate) fn today() -> NaiveDate {
    chrono::Utc::now().date_naive()
}

/// The problem of a training partner that does not exist.
pub(crate) fn unknown_partner() -> Problem {
    let field = "training_partner_urn".to_owned();
    Problem {
        error: "UnprocessableEntity",
        message: format!("{field} is not known"),
        code: "unknown",
        field,
    }
}
