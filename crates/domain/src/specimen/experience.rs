//! What an invented trainee has behind them: degrees, and placements in schools.

use chrono::{Datelike as _, NaiveDate};

use super::course::{Course, abroad};
use super::random::Random;
use super::{any, asked, names, usual};
use crate::candidate::Sent;
use crate::degree::{Degree, DegreeChanges};
use crate::dictionary::Change;
use crate::lists::List;
use crate::organisations::URNS_WITHOUT_SCHOOL;
use crate::placement::{Placement, PlacementChanges};
use crate::rules::Context;
use crate::value::Year;

/// The most placements and the most degrees of one trainee.
const MOST: usize = 3;
/// The age at which people graduate at the earliest, in years.
const YOUNGEST_GRADUATE_YEARS: i32 = 20;
/// How long before the training the last degree was awarded at most, in years.
const MOST_YEARS_BACK: usize = 8;

/// Placements, at least so many.
pub(super) fn placements(random: &Random, context: &Context<'_>, least: usize) -> Vec<Sent<Placement>> {
    let count = least + random.below(MOST + 1 - least.min(MOST));
    (0..count).map(|_| Sent::of(placement(random, context))).collect()
}

/// A placement in a known school, in one that is not listed, or in one without a number.
fn placement(random: &Random, context: &Context<'_>) -> PlacementChanges {
    let known = random.chance(60).then(|| random.pick(&context.organisations.schools)).flatten();
    if let Some(school) = known {
        return PlacementChanges { urn: Change::Set(school.urn.clone()), ..PlacementChanges::default() };
    }
    let urn = match random.below(10) {
        0..6 => Some(format!("99{}", random.digits(4))),
        6 => Some(random.one_of(URNS_WITHOUT_SCHOOL).to_owned()),
        _ => None,
    };
    PlacementChanges {
        // A number that turns out to be known brings its own name.
        urn: asked(urn),
        name: Change::Set(names::school(random)),
        postcode: asked(random.chance(70).then(|| names::postcode(random))),
    }
}

/// Degrees, at least so many; no two are of the same year, so none repeats another.
pub(super) fn degrees(
    random: &Random,
    context: &Context<'_>,
    course: &Course<'_>,
    birth: NaiveDate,
    least: usize,
) -> Vec<Sent<Degree>> {
    let usual = if course.is_undergraduate() { usize::from(random.chance(10)) } else { 1 + random.below(MOST) };
    let count = if random.chance(10) { least } else { usual.max(least) };
    let earliest = birth.year() + YOUNGEST_GRADUATE_YEARS;
    let latest = course.start.year();
    let back = usize::try_from(latest - earliest).unwrap_or_default().min(MOST_YEARS_BACK);
    let mut year = i64::from(latest) - random.below(back + 1) as i64;
    let mut degrees = Vec::with_capacity(count);
    while degrees.len() < count && (degrees.len() < least || year >= i64::from(earliest)) {
        degrees.push(Sent::of(degree(random, context, Year(year))));
        year -= 1 + random.below(3) as i64;
    }
    degrees
}

fn degree(random: &Random, context: &Context<'_>, year: Year) -> DegreeChanges {
    let code = |list| any(random, context.lists, list);
    let foreign = random.chance(25).then(|| abroad(random, context)).flatten();
    let is_uk = foreign.is_none();
    let kind = asked(code(List::DegreeType));
    // Two codes are recorded as other ones.
    let grades = ["01", "02", "02", "02", "03", "05", "12", "13", "14", "99"];
    let grade = usual(random, context.lists, List::DegreeGrade, grades);
    let institution = code(List::Institution).filter(|code| is_uk && code != "0133" && random.chance(90));
    DegreeChanges {
        uk_degree: if is_uk { kind.clone() } else { Change::Keep },
        non_uk_degree: if is_uk { Change::Keep } else { kind },
        subject: asked(code(List::DegreeSubject)),
        institution: asked(institution),
        graduation_year: Change::Set(year),
        grade: asked(grade.filter(|_| is_uk || random.chance(50))),
        other_grade: Change::Keep,
        country: asked(foreign),
    }
}
