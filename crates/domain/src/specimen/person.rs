//! Who an invented trainee is.

use chrono::{Datelike as _, Months, NaiveDate};

use super::random::Random;
use super::{any, asked, listed_or_any, names, taken, usual};
use crate::dictionary::Change;
use crate::lists::{List, Lists};
use crate::trainee::TraineeChanges;

/// Describes the person: names, birth, address, identifiers, ethnicity and disabilities.
pub(super) fn describe(
    changes: &mut TraineeChanges,
    random: &Random,
    lists: &Lists,
    birth: NaiveDate,
    start: NaiveDate,
    number: u64,
) {
    let (given, family) = (names::given(random), names::family(random));
    changes.first_names = Change::Set(given.to_owned());
    changes.middle_names = asked(random.chance(40).then(|| names::given(random).to_owned()));
    changes.last_name = Change::Set(family.to_owned());
    changes.previous_last_name = asked(random.chance(10).then(|| names::family(random).to_owned()));
    changes.email = Change::Set(names::email(random, given, family, number));
    changes.date_of_birth = Change::Set(birth);
    changes.sex = asked(usual(random, lists, List::Sex, ["10", "10", "10", "11", "11", "12", "96", "99"]));
    let nationality = if random.chance(75) {
        listed_or_any(random, lists, List::Nationality, "GB")
    } else {
        any(random, lists, List::Nationality)
    };
    changes.nationality = asked(nationality.filter(|_| random.chance(90)));
    // No number that begins with QQ is ever given to anybody.
    changes.ni_number = asked(random.chance(50).then(|| format!("QQ{}C", random.digits(6))));
    changes.agency_id = Change::Set(agency_id(random, start, number));
    changes.provider_trainee_id =
        asked(random.chance(90).then(|| format!("{:02}-{number:06}", start.year().rem_euclid(100))));
    changes.application_id = asked(random.chance(60).then(|| (1_000 + number % 9_000_000).to_string()));
    changes.ethnicity = asked(ethnicity(random, lists));
    describe_disabilities(changes, random, lists);
}

/// A day on which the person was born: they come of age before the training starts.
pub(super) fn birth(random: &Random, undergraduate: bool, start: NaiveDate) -> NaiveDate {
    let (youngest, oldest) = match (undergraduate, random.chance(80)) {
        (true, true) => (18, 22),
        (true, false) => (22, 45),
        (false, true) => (21, 30),
        (false, false) => (30, 62),
    };
    let years = |years: u32| start.checked_sub_months(Months::new(12 * years)).unwrap_or(start);
    random.day(years(oldest), years(youngest))
}

/// An identifier of the sector agency, of either length.
fn agency_id(random: &Random, start: NaiveDate, number: u64) -> String {
    let year = start.year().rem_euclid(100);
    let provider = random.digits(4);
    if random.chance(50) {
        format!("{year:02}{provider}{number:07}")
    } else {
        format!("{year:02}{provider}{number:011}")
    }
}

fn ethnicity(random: &Random, lists: &Lists) -> Option<String> {
    let sent = if random.chance(55) {
        listed_or_any(random, lists, List::Ethnicity, "160")
    } else {
        any(random, lists, List::Ethnicity)
    };
    sent.filter(|_| random.chance(90))
}

/// Most people have none; a few have as many as a record holds.
fn describe_disabilities(changes: &mut TraineeChanges, random: &Random, lists: &Lists) {
    let count = match random.below(100) {
        0..60 => return,
        60..80 => {
            changes.disability1 = asked(usual(random, lists, List::Disability, ["95", "95", "98", "99"]));
            return;
        }
        80..92 => 1,
        92..97 => 2,
        97..99 => 4,
        _ => 9,
    };
    let fields = [
        &mut changes.disability1,
        &mut changes.disability2,
        &mut changes.disability3,
        &mut changes.disability4,
        &mut changes.disability5,
        &mut changes.disability6,
        &mut changes.disability7,
        &mut changes.disability8,
        &mut changes.disability9,
    ];
    let mut codes: Vec<&str> = lists.codes(List::Disability).collect();
    for field in fields.into_iter().take(count) {
        let at = random.below(codes.len());
        *field = asked(taken(&mut codes, at).map(str::to_owned));
    }
}
