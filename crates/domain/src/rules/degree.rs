//! Degrees (contract, sections 2.3 and 4.10).

use chrono::Datelike as _;

use crate::fields::field::Field;
use crate::fields::value::{Text, Value, Year};
use crate::lists::List;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::degree::{Degree, DegreeField as F, DegreeKind, is_uk_country};
use crate::records::record::{Change, Changes as _, Stored as _};
use crate::rules::{Findings, Run, found, found_if};

/// The sent grade and the grade that is recorded instead.
const GRADE_RECORDED_AS: (&str, &str) = ("09", "14");
/// The sent institution and the institution that is recorded instead.
const INSTITUTION_RECORDED_AS: (&str, &str) = ("0133", "0149");
/// The earliest year of graduation, in years before next year.
const YEARS_BACK: i64 = 60;
/// The fields that determine the kind of a degree.
const KIND_FIELDS: [F; 4] = [F::institution, F::country, F::uk_degree, F::non_uk_degree];

required_rules! { Degree:
    SUBJECT("2.3") = "degree_subject_required": [F::subject];
    GRADUATION_YEAR("2.3") = "graduation_year_required": [F::graduation_year];
}

rules! { Degree:
    KIND("2.3") = "degree_kind":
        "an institution, a UK degree type or a UK country makes this a UK degree, which has no country; another \
         country or degree type makes this a non-UK degree, which has no institution",
        KIND_FIELDS => Run::Adjust(kind);
    GRADE_RECORDED("2.3") = "degree_grade_recorded":
        "is stored as 14 if it is 09; a grade in words is not stored, because no grade allows one",
        [F::grade, F::other_grade] => Run::Adjust(grade_recorded);
    GRADUATION_YEAR_BOUNDS("2.3") = "graduation_year_bounds": "is not later than next year and at most 60 years earlier",
        [F::graduation_year] => Run::Check(graduation_year_bounds);
    COUNTRY("2.3") = "degree_country_known": "is a listed country, unless an institution is sent",
        [F::country, F::institution] => Run::Check(country);
    UK_DEGREE("2.3") = "uk_degree_required": "is required for UK degrees",
        [F::uk_degree, F::institution, F::country, F::non_uk_degree] => Run::CheckNeeding(&[F::uk_degree, F::country], uk_degree);
    NON_UK_DEGREE("2.3") = "non_uk_degree_required": "is required for non-UK degrees",
        [F::non_uk_degree, F::institution, F::country, F::uk_degree] => Run::CheckNeeding(&[F::non_uk_degree, F::country], non_uk_degree);
    // Listed after the type, so that both problems are reported in this order. A type that changes
    // the kind of the degree also marks the country as changed.
    COUNTRY_REQUIRED("2.3") = "degree_country_required": "is required for non-UK degrees",
        [F::country, F::institution, F::uk_degree] => Run::Check(country_required);
    // An update that changes the kind of the degree marks the country as changed, so this rule
    // runs.
    GRADE("2.3") = "degree_grade_required": "is required for UK degrees",
        [F::grade, F::country] => Run::Check(grade);
}

/// Returns the code list of a degree field that also accepts texts outside the list, so that its
/// definition names none.
#[must_use]
pub fn suggested_list(field: Field) -> Option<List> {
    if field == F::institution.into() {
        Some(List::Institution)
    } else if field == F::country.into() {
        Some(List::Country)
    } else {
        None
    }
}

/// Determines the kind of the degree, and clears the fields that this kind excludes.
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
    // The rules about required fields read the country. If the kind changes, these rules must run.
    if candidate
        .stored()
        .is_some_and(|stored| stored.kind(context.lists) != kind)
    {
        candidate.mark_changed(F::country);
    }
}

/// Adds a notice for each sent field that the kind of the degree excludes. The notice names the
/// field that decided the kind.
fn report_values_of_other_kind(
    candidate: &mut Candidate<Degree>,
    kind: DegreeKind,
    context: &Context<'_>,
) {
    let sent = |field: F| {
        candidate.changes(field) && candidate.requested().requested(field) != Some(Value::Null)
    };
    let deciding = [F::institution, F::country, F::uk_degree]
        .into_iter()
        .find(|field| sent(*field));
    let Some(deciding) = deciding else { return };
    // A UK country is cleared but not ignored: a degree without a country is a UK degree.
    let is_uk = candidate
        .record
        .country
        .as_deref()
        .is_none_or(|code| is_uk_country(code, context.lists));
    let ignored: Vec<F> = kind
        .excluded()
        .iter()
        .copied()
        .filter(|field| sent(*field) && !(*field == F::country && is_uk))
        .collect();
    for field in ignored {
        candidate.notice(
            field,
            NoticeKind::DecidedBy {
                field: deciding.into(),
            },
        );
    }
}

/// Records a listed institution. An unlisted institution is cleared, which means "other UK
/// institution".
fn record_institution(candidate: &mut Candidate<Degree>, context: &Context<'_>) {
    let Some(sent) = candidate.record.institution.take() else {
        return;
    };
    // Replaced reference data may lack the recorded code.
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
        // Clients often omit leading zeros; the notice suggests the listed code.
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

/// Replaces a grade that is recorded as another grade, and clears the grade in words.
fn grade_recorded(candidate: &mut Candidate<Degree>, context: &Context<'_>) {
    let degree = &mut candidate.record;
    // Replaced reference data may lack the recorded code.
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

/// Returns the kind of the degree after the request.
///
/// The first changed value decides, in the order institution, country, UK type, foreign type. A new
/// degree without an institution and a country is a UK degree. Without changed values, a stored
/// degree keeps its kind.
fn kind_of(candidate: &Candidate<Degree>, context: &Context<'_>) -> DegreeKind {
    let requested = candidate.requested();
    let stored = candidate.stored();
    let stored_institution = stored.and_then(|degree| degree.institution.as_ref());
    if changed_text(&requested.institution, stored_institution).is_some() {
        return DegreeKind::Uk;
    }
    let stored_country = stored.and_then(|degree| degree.country.as_ref());
    if let Some(country) = changed_text(&requested.country, stored_country) {
        return if is_uk_country(country, context.lists) {
            DegreeKind::Uk
        } else {
            DegreeKind::Foreign
        };
    }
    let Some(stored) = stored else {
        return DegreeKind::Uk;
    };
    if changed_text(&requested.uk_degree, stored.uk_degree.as_ref()).is_some() {
        return DegreeKind::Uk;
    }
    if changed_text(&requested.non_uk_degree, stored.non_uk_degree.as_ref()).is_some() {
        return DegreeKind::Foreign;
    }
    stored.kind(context.lists)
}

/// Returns the sent text if it differs from the stored one; `None` if the text is equal, or if no
/// text is sent.
fn changed_text<'a>(change: &'a Change<Text>, stored: Option<&Text>) -> Option<&'a Text> {
    match change {
        Change::Set(text) if stored != Some(text) => Some(text),
        Change::Set(_) | Change::Keep | Change::Clear | Change::Blank => None,
    }
}

/// Returns the code to record: `recorded` for the code `sent`, and any other code unchanged.
fn recorded_as(code: Text, (sent, recorded): (&str, &str)) -> Text {
    if code == sent {
        recorded.to_owned()
    } else {
        code
    }
}

/// Reports a year of graduation after next year, or too many years before.
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

/// Reports an unlisted country of a foreign degree.
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

/// Returns a problem if the degree is of the kind and the field has no value.
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
