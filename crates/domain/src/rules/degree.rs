//! Degrees (contract, sections 2.3 and 4.10).

use chrono::Datelike as _;

use crate::fields::value::{Text, Value, Year};
use crate::lists::List;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::degree::{Degree, DegreeField as F, DegreeKind, is_uk_country};
use crate::records::record::{Change, Changes as _, Stored as _};
use crate::rules::{Findings, Run, found, found_if};

/// Codes that are recorded as another one of the same list.
const GRADE_RECORDED_AS: (&str, &str) = ("09", "14");
const INSTITUTION_RECORDED_AS: (&str, &str) = ("0133", "0149");
/// How many years ago a degree can have been awarded, counted from next year.
const YEARS_BACK: i64 = 60;
/// The fields that decide the kind of a degree.
const KIND_FIELDS: [F; 4] = [F::institution, F::country, F::uk_degree, F::non_uk_degree];

required_rules! { Degree:
    SUBJECT("2.3") = "degree_subject_required": [F::subject];
    GRADUATION_YEAR("2.3") = "graduation_year_required": [F::graduation_year];
}

rules! { Degree:
    KIND("2.3") = "degree_kind":
        "an institution, a UK degree type or a UK country makes the degree one of the United Kingdom, which has no \
         country; another country or degree type makes it one of that country, which has no institution",
        KIND_FIELDS => Run::Adjust(kind);
    GRADE_RECORDED("2.3") = "degree_grade_recorded":
        "09 is recorded as 14, and another grade in words only where the grade says that it is another, which none \
         does",
        [F::grade, F::other_grade] => Run::Adjust(grade_recorded);
    GRADUATION_YEAR_BOUNDS("2.3") = "graduation_year_bounds": "is next year at the latest and at most 60 years earlier",
        [F::graduation_year] => Run::Check(graduation_year_bounds);
    COUNTRY("2.3") = "degree_country_known": "is a listed country, unless an institution is sent",
        [F::country, F::institution] => Run::Check(country);
    UK_DEGREE("2.3") = "uk_degree_required": "must be there on a degree of the United Kingdom",
        KIND_FIELDS => Run::CheckNeeding(&[F::uk_degree, F::country], uk_degree);
    NON_UK_DEGREE("2.3") = "non_uk_degree_required": "must be there on a degree of another country",
        KIND_FIELDS => Run::CheckNeeding(&[F::non_uk_degree, F::country], non_uk_degree);
    // It comes behind the type, so that both are reported where both are missing; a type that
    // changes the kind of the degree changes its country too.
    COUNTRY_REQUIRED("2.3") = "degree_country_required": "must be there on a degree of another country",
        [F::country, F::institution, F::uk_degree] => Run::Check(country_required);
    // An update that makes it one changes its country, which stands for its kind.
    GRADE("2.3") = "degree_grade_required": "must be there on a degree of the United Kingdom",
        [F::grade, F::country] => Run::Check(grade);
}

fn kind(candidate: &mut Candidate<Degree>, context: &Context<'_>) {
    let kind = kind_of(candidate, context);
    report_values_of_other_kind(candidate, kind, context);
    let degree = &mut candidate.record;
    match kind {
        DegreeKind::Uk => {
            degree.country = None;
            degree.non_uk_degree = None;
            record_institution(candidate, context);
        }
        DegreeKind::Foreign => {
            degree.institution = None;
            degree.uk_degree = None;
        }
    }
    // The kind decides what else must be there.
    if candidate
        .stored()
        .is_some_and(|stored| stored.kind(context.lists) != kind)
    {
        candidate.mark_changed(F::country);
    }
}

/// Reports what was sent and belongs to the other kind of degree, with the field that decided the
/// kind.
fn report_values_of_other_kind(
    candidate: &mut Candidate<Degree>,
    kind: DegreeKind,
    context: &Context<'_>,
) {
    let sent = |field: F| {
        candidate.changes(field) && candidate.requested().requested(field) != Some(Value::Null)
    };
    let decides = [F::institution, F::country, F::uk_degree]
        .into_iter()
        .find(|field| sent(*field));
    let Some(decides) = decides else { return };
    let country = candidate.record.country.as_deref();
    // A degree without a country is one of the United Kingdom, so that its parts are recorded by
    // that.
    let is_recorded = country.is_none_or(|code| is_uk_country(code, context.lists));
    let is_left_out = |field: &F| sent(*field) && (*field != F::country || !is_recorded);
    for field in kind
        .excluded()
        .iter()
        .copied()
        .filter(is_left_out)
        .collect::<Vec<_>>()
    {
        candidate.notice(
            field,
            NoticeKind::DecidedBy {
                field: decides.into(),
            },
        );
    }
}

/// Records an institution that is listed; another one is recorded as none, which stands for "other
/// UK institution".
fn record_institution(candidate: &mut Candidate<Degree>, context: &Context<'_>) {
    let Some(sent) = candidate.record.institution.take() else {
        return;
    };
    // Replaced reference data may have the one code without the other.
    let code = if context
        .lists
        .contains(List::Institution, INSTITUTION_RECORDED_AS.1)
    {
        recorded_as(sent.clone(), INSTITUTION_RECORDED_AS)
    } else {
        sent.clone()
    };
    if context.lists.contains(List::Institution, &code) {
        candidate.record.institution = Some(code);
    } else if candidate.changes(F::institution) {
        let codes = || context.lists.codes(List::Institution).map(str::to_owned);
        let listed =
            codes().find(|code| code.trim_start_matches('0') == sent.trim_start_matches('0'));
        let notice = NoticeKind::NotInList {
            value: sent.clone(),
            listed,
        };
        candidate.notice_or_reject(F::institution, notice, || ProblemKind::UnknownCode {
            value: sent,
            accepted: codes().collect(),
        });
    }
}

fn grade_recorded(candidate: &mut Candidate<Degree>, context: &Context<'_>) {
    let degree = &mut candidate.record;
    // Replaced reference data may have the one code without the other.
    if context
        .lists
        .contains(List::DegreeGrade, GRADE_RECORDED_AS.1)
    {
        degree.grade = degree
            .grade
            .take()
            .map(|code| recorded_as(code, GRADE_RECORDED_AS));
    }
    if candidate.record.other_grade.take().is_some() && candidate.changes(F::other_grade) {
        candidate.notice(F::other_grade, NoticeKind::NoOtherGrade);
    }
}

/// What is sent decides, the institution first; what is not sent, or as it is stored, leaves a
/// degree what it was.
fn kind_of(candidate: &Candidate<Degree>, context: &Context<'_>) -> DegreeKind {
    let (requested, stored) = (candidate.requested(), candidate.stored());
    let sent = |change: &Change<Text>, stored: Option<&Text>| match change {
        Change::Set(text) if stored != Some(text) => Some(text.clone()),
        Change::Set(_) | Change::Keep | Change::Clear | Change::Blank => None,
    };
    let stored_value = |field: fn(&Degree) -> Option<&Text>| stored.and_then(field);
    if sent(
        &requested.institution,
        stored_value(|degree| degree.institution.as_ref()),
    )
    .is_some()
    {
        return DegreeKind::Uk;
    }
    if let Some(country) = sent(
        &requested.country,
        stored_value(|degree| degree.country.as_ref()),
    ) {
        return if is_uk_country(&country, context.lists) {
            DegreeKind::Uk
        } else {
            DegreeKind::Foreign
        };
    }
    match stored {
        None => DegreeKind::Uk,
        Some(stored) if sent(&requested.uk_degree, stored.uk_degree.as_ref()).is_some() => {
            DegreeKind::Uk
        }
        Some(stored) if sent(&requested.non_uk_degree, stored.non_uk_degree.as_ref()).is_some() => {
            DegreeKind::Foreign
        }
        Some(stored) => stored.kind(context.lists),
    }
}

fn recorded_as(code: Text, (sent, recorded): (&str, &str)) -> Text {
    if code == sent {
        recorded.to_owned()
    } else {
        code
    }
}

fn graduation_year_bounds(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    let latest = i64::from(context.today.year()) + 1;
    let earliest = latest - YEARS_BACK;
    let outside = candidate
        .record
        .graduation_year
        .is_some_and(|Year(year)| !(earliest..=latest).contains(&year));
    found_if(outside, F::graduation_year, || ProblemKind::YearOutside {
        earliest,
        latest,
    })
}

fn country(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    let is_foreign = kind_of(candidate, context) == DegreeKind::Foreign;
    match &candidate.record.country {
        Some(code) if is_foreign && !context.lists.contains(List::Country, code) => found(
            F::country,
            ProblemKind::UnknownCode {
                value: code.clone(),
                accepted: context
                    .lists
                    .codes(List::Country)
                    .map(str::to_owned)
                    .collect(),
            },
        ),
        Some(_) | None => Findings::new(),
    }
}

fn country_required(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    required_of(DegreeKind::Foreign, F::country, candidate, context)
}

fn uk_degree(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    required_of(DegreeKind::Uk, F::uk_degree, candidate, context)
}

fn non_uk_degree(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    required_of(DegreeKind::Foreign, F::non_uk_degree, candidate, context)
}

fn grade(candidate: &Candidate<Degree>, context: &Context<'_>) -> Findings {
    required_of(DegreeKind::Uk, F::grade, candidate, context)
}

/// A degree of that kind has a value in the field.
fn required_of(
    kind: DegreeKind,
    field: F,
    candidate: &Candidate<Degree>,
    context: &Context<'_>,
) -> Findings {
    let missing =
        kind_of(candidate, context) == kind && candidate.record.stored(field) == Value::Null;
    found_if(missing, field, || ProblemKind::Blank)
}

#[cfg(test)]
mod kinds;
