//! The rules that a registration must meet.

use super::*;

const ELIGIBLE: &str = "7";
const NO_FUNDING: &str = "6";
const PRIMARY: &str = "100511";
const EARLY_YEARS: &str = "100510";
const EARLY_YEARS_AGES: &str = "13920";
/// The route that no request can set from v2026.0 on.
const SCHOOL_DIRECT: &str = "02";

pub(super) fn personal(check: &mut Check, trainee: &Trainee, today: NaiveDate) {
    let born = trainee.date_of_birth;
    let ages = years_before(today, 100)..=years_before(today, 16);
    check.unless(
        ages.contains(&born),
        "date_of_birth",
        "age",
        "is not 16 to 100 years ago",
    );
    check.unless(
        is_email(&trainee.email),
        "email",
        "not_an_email",
        "is not an e-mail address",
    );
    check.unless(
        [13, 17].contains(&trainee.agency_id.len()),
        "agency_id",
        "length",
        "must have 13 or 17 characters",
    );
    let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
    check.unless(
        trainee.application_id.as_ref().is_none_or(is_number),
        "application_id",
        "not_a_number",
        "is not a number",
    );
    check.unless(
        is_number(&trainee.course_year),
        "course_year",
        "not_a_number",
        "is not a number",
    );
}

fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else {
        return false;
    };
    let is_local = !local.is_empty()
        && !local.contains("..")
        && local
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_{}~-|`".contains(&byte));
    let is_part = |part: &str| {
        (1..=63).contains(&part.len())
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let has_end = host.rsplit_once('.').is_some_and(|(_, end)| {
        end.len() >= 2 && end.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    is_local && has_end && host.len() <= 253 && host.split('.').all(is_part)
}

pub(super) fn dates(check: &mut Check, trainee: &Trainee, today: NaiveDate) {
    let (start, end) = (trainee.itt_start_date, trainee.itt_end_date);
    let oldest = years_before(today, 10);
    check.unless(
        start.year() <= today.year() + 1,
        "itt_start_date",
        "too_late",
        "is after next year",
    );
    check.unless(
        end > start && end >= oldest && end.year() <= today.year() + 5,
        "itt_end_date",
        "range",
        "is not after the start, or too early or late",
    );
    check.unless(
        trainee.trainee_start_date >= oldest
            && (trainee.trainee_start_date == start || trainee.trainee_start_date <= today),
        "trainee_start_date",
        "range",
        "is in the future or too long ago",
    );
}

pub(super) fn course(check: &mut Check, trainee: &Trainee, route: &Route) {
    check.unless(
        trainee.training_route != SCHOOL_DIRECT
            && route
                .start_year
                .is_none_or(|year| academic_cycle(trainee.trainee_start_date) >= year),
        "training_route",
        "not_available",
        "is not available",
    );
    let (first, second, third) = (
        Some(&trainee.course_subject_1),
        trainee.course_subject_2.as_ref(),
        trainee.course_subject_3.as_ref(),
    );
    let differ = first != second && first != third && (second != third || second.is_none());
    check.unless(
        differ || route.early_years,
        "course_subject_2",
        "same_as",
        "must differ from the others",
    );
    let phase = LISTS
        .course_age_range
        .get(&trainee.course_age_range)
        .map_or("", |ages| &ages.phase);
    let expected = match (route.early_years, phase) {
        (true, _) => Some(EARLY_YEARS),
        (false, "primary") => Some(PRIMARY),
        (false, _) => None,
    };
    check.unless(
        expected.is_none_or(|subject| trainee.course_subject_1 == subject),
        "course_subject_1",
        "phase",
        "is not the subject of this phase",
    );
    check.unless(
        route.early_years == (trainee.course_age_range == EARLY_YEARS_AGES),
        "course_age_range",
        "route",
        "is not that of the route",
    );
    check.unless(
        trainee.study_mode.is_some() || !route.study_mode_required,
        "study_mode",
        "blank",
        "cannot be blank",
    );
    check.unless(
        trainee.iqts_country.is_some() == route.iqts_country_required,
        "iqts_country",
        "route",
        "is required on route 15 only",
    );
    let needs_aim = LISTS
        .itt_aim
        .get(&trainee.itt_aim)
        .is_some_and(|aim| aim.requires_qualification_aim);
    check.unless(
        trainee.itt_qualification_aim.is_some() || !needs_aim,
        "itt_qualification_aim",
        "blank",
        "cannot be blank",
    );
}

pub(super) fn funding(check: &mut Check, trainee: &Trainee, route: &Route) {
    let year = academic_cycle(trainee.trainee_start_date);
    let is_eligible = trainee.fund_code == ELIGIBLE;
    let mut rules = LISTS
        .funding_rules
        .iter()
        .filter(|rule| rule.start_year == year && rule.training_route == trainee.training_route);
    check.unless(
        !is_eligible || (route.funding_applies && rules.clone().next().is_some()),
        "fund_code",
        "no_student_finance",
        "is not possible on the route in the year",
    );
    let method = LISTS.funding_method.get(&trainee.funding_method);
    if let Some(kind) = method.and_then(|method| method.funding_type.as_ref())
        && let Some(subject) = LISTS.course_subject.get(&trainee.course_subject_1)
    {
        let is_exception = EXCEPTION_YEARS.contains(&year) && subject.is_any(&EXCEPTION_SUBJECTS);
        check.unless(
            is_eligible || is_exception,
            "funding_method",
            "needs_student_finance",
            "needs fund_code 7",
        );
        let exists = rules.any(|rule| {
            rule.funding_type == *kind && subject.is_any(&[rule.allocation_subject.as_str()])
        });
        check.unless(
            exists || trainee.funding_method == NO_FUNDING,
            "funding_method",
            "no_such_funding",
            "does not exist for the subject, the route and the year",
        );
    }
    for (field, code) in [
        ("training_initiative", &trainee.training_initiative),
        (
            "additional_training_initiative",
            &trainee.additional_training_initiative,
        ),
    ] {
        let initiative = code
            .as_ref()
            .and_then(|code| LISTS.training_initiative.get(code));
        let is_open = initiative.is_none_or(|initiative| {
            initiative.start_year <= year && initiative.end_year.is_none_or(|end| year <= end)
        });
        check.unless(is_open, field, "year", "is not available in the year");
    }
}

pub(super) fn placement(
    check: &mut Check,
    new: NewPlacement,
    organisations: &Organisations,
    now: Time,
) -> Placement {
    let urn = check.text("urn", new.urn, 6);
    let school = urn.as_ref().and_then(|urn| organisations.schools.get(urn));
    let (name, postcode) = match school {
        Some((name, postcode)) => (name.clone(), postcode.clone()),
        None => {
            let name = check.text("name", new.name, 255);
            let postcode = check.text("postcode", new.postcode, 8);
            let is_valid = postcode.as_deref().is_none_or(is_postcode);
            check.unless(is_valid, "postcode", "not_a_postcode", "is not a postcode");
            (check.required("name", name), postcode)
        }
    };
    let is_urn = |urn: &String| urn.len() == 6 && urn.bytes().all(|byte| byte.is_ascii_digit());
    check.unless(
        urn.as_ref().is_none_or(is_urn),
        "urn",
        "not_a_urn",
        "must have 6 digits",
    );
    Placement {
        placement_id: identifier(),
        urn,
        name,
        postcode,
        created_at: now,
        updated_at: now,
    }
}

fn is_postcode(text: &str) -> bool {
    let Some((outward, inward)) = text
        .len()
        .checked_sub(3)
        .and_then(|at| text.split_at_checked(at))
    else {
        return false;
    };
    let outward = outward.strip_suffix(' ').unwrap_or(outward).as_bytes();
    let is_outward = (2..=4).contains(&outward.len())
        && outward.first().is_some_and(u8::is_ascii_alphabetic)
        && outward.iter().all(u8::is_ascii_alphanumeric)
        && outward.iter().any(u8::is_ascii_digit);
    is_outward
        && inward.bytes().enumerate().all(|(at, byte)| match at {
            0 => byte.is_ascii_digit(),
            _ => byte.is_ascii_alphabetic(),
        })
}

pub(super) fn degree(check: &mut Check, new: NewDegree, today: NaiveDate, now: Time) -> Degree {
    let country = check.code("country", new.country, &LISTS.country);
    let is_uk = new.institution.is_some()
        || country
            .as_deref()
            .is_none_or(|country| UK.contains(&country));
    let institution = new
        .institution
        .filter(|code| is_uk && LISTS.institution.contains_key(code));
    let uk_degree = check.code("uk_degree", new.uk_degree, &LISTS.degree_type);
    let non_uk_degree = check.code("non_uk_degree", new.non_uk_degree, &LISTS.degree_type);
    let subject = check.code("subject", new.subject, &LISTS.degree_subject);
    let grade = check.code("grade", new.grade, &LISTS.degree_grade);
    let next_year = i64::from(today.year()) + 1;
    let year: Option<i64> = new
        .graduation_year
        .and_then(|year| year.get(..4)?.parse().ok())
        .filter(|year| (next_year - 60..=next_year).contains(year));
    check.unless(
        year.is_some(),
        "graduation_year",
        "range",
        "is not a year from 60 years ago to next year",
    );
    let (kind, name) = if is_uk {
        (uk_degree.is_some(), "uk_degree")
    } else {
        (non_uk_degree.is_some(), "non_uk_degree")
    };
    check.unless(kind, name, "blank", "cannot be blank");
    check.unless(
        grade.is_some() || !is_uk,
        "grade",
        "blank",
        "cannot be blank",
    );
    Degree {
        degree_id: identifier(),
        uk_degree: uk_degree.filter(|_| is_uk),
        non_uk_degree: non_uk_degree.filter(|_| !is_uk),
        subject: check.required("subject", subject),
        institution,
        graduation_year: year.unwrap_or_default(),
        grade,
        country: country.filter(|_| !is_uk),
        created_at: now,
        updated_at: now,
    }
}

fn years_before(day: NaiveDate, years: u32) -> NaiveDate {
    day.checked_sub_months(Months::new(12 * years))
        .unwrap_or_default()
}
