//! Placements (contract, sections 2.2 and 4.9).

use crate::candidate::Candidate;
use crate::organisations::is_urn;
use crate::placement::{Placement, PlacementField};
use crate::problem::{NoticeKind, ProblemKind};
use crate::rules::organisation::URN_DIGITS;
use crate::rules::{Context, Findings, Rule, Run, found_if};

/// A URN has six digits.
pub const URN: Rule<Placement> = Rule {
    name: "placement_urn_form",
    demands: "has 6 digits",
    section: "2.2",
    reads: &[PlacementField::urn],
    run: Run::Check(urn_form),
};

/// A known school gives the placement its name and postcode.
pub const SCHOOL: Rule<Placement> = Rule {
    name: "placement_school",
    demands: "takes its name and postcode from the school, when its URN is that of a known one, and leaves them behind when \
              it leaves the school",
    section: "2.2",
    reads: &[PlacementField::urn, PlacementField::name, PlacementField::postcode],
    run: Run::Adjust(school),
};

/// A placement has a name.
pub const NAME: Rule<Placement> = Rule {
    name: "placement_name_required",
    demands: "must be there unless the URN is that of a known school, and is never sent as blank text",
    section: "2.2",
    reads: &[PlacementField::name, PlacementField::urn],
    run: Run::Check(name),
};

/// A postcode has the form of one.
pub const POSTCODE: Rule<Placement> = Rule {
    name: "placement_postcode_form",
    demands: "is a full postcode of the United Kingdom",
    section: "2.2",
    reads: &[PlacementField::postcode],
    run: Run::Check(postcode),
};

fn urn_form(candidate: &Candidate<Placement>, _: &Context<'_>) -> Findings {
    let wrong = candidate.record.urn.as_deref().is_some_and(|urn| !is_urn(urn));
    found_if(wrong, PlacementField::urn, || ProblemKind::NotExactDigits { digits: URN_DIGITS })
}

fn school(candidate: &mut Candidate<Placement>, context: &Context<'_>) {
    let known = candidate.record.urn.as_deref().and_then(|urn| context.organisations.school(urn));
    let Some(school) = known else {
        // What the placement showed was the school's, and goes with it.
        if candidate.record.school_id.take().is_some() {
            if !candidate.present(PlacementField::name) {
                candidate.record.name = None;
            }
            if !candidate.present(PlacementField::postcode) {
                candidate.record.postcode = None;
            }
        }
        return;
    };
    let differs = |sent: &Option<String>, held: Option<&str>| sent.as_deref().is_some_and(|sent| Some(sent) != held);
    if candidate.sent(PlacementField::name) && differs(&candidate.record.name, Some(&school.name)) {
        candidate.notice(PlacementField::name, NoticeKind::HeldBySchool);
    }
    if candidate.sent(PlacementField::postcode) && differs(&candidate.record.postcode, school.postcode.as_deref()) {
        candidate.notice(PlacementField::postcode, NoticeKind::HeldBySchool);
    }
    candidate.record.name = Some(school.name.clone());
    candidate.record.postcode.clone_from(&school.postcode);
    candidate.record.school_id = Some(school.id);
}

fn name(candidate: &Candidate<Placement>, _: &Context<'_>) -> Findings {
    let missing = candidate.blank(PlacementField::name) || candidate.record.name.is_none();
    found_if(missing, PlacementField::name, || ProblemKind::Blank)
}

/// A linked school's postcode is the register's affair.
fn postcode(candidate: &Candidate<Placement>, _: &Context<'_>) -> Findings {
    let wrong = candidate.record.school_id.is_none()
        && candidate.record.postcode.as_deref().is_some_and(|postcode| !is_postcode(postcode));
    found_if(wrong, PlacementField::postcode, || ProblemKind::NotPostcode)
}

/// Whether the text is a full postcode of the United Kingdom, in any case, the space optional: an
/// outward part of one or two letters, a digit and perhaps one more digit or letter, and an inward
/// part of a digit and two letters.
fn is_postcode(text: &str) -> bool {
    let Some((outward, inward)) = text.len().checked_sub(3).and_then(|at| text.split_at_checked(at)) else {
        return false;
    };
    let outward = outward.strip_suffix(' ').unwrap_or(outward);
    let shape: String = outward
        .chars()
        .map(|c| match c {
            c if c.is_ascii_digit() => '9',
            c if c.is_ascii_alphabetic() => 'A',
            other => other,
        })
        .collect();
    let inward_shape = inward.bytes().enumerate().all(|(at, byte)| match at {
        0 => byte.is_ascii_digit(),
        _ => byte.is_ascii_alphabetic(),
    });
    inward_shape && ["A9", "A99", "A9A", "AA9", "AA99", "AA9A"].contains(&shape.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_postcodes_of_every_form_are_taken() {
        for text in ["M1 1AA", "M60 1NW", "CR2 6XH", "DN55 1PT", "W1A 1HQ", "EC1A 1BB", "ec1a1bb", "Sw1a 2aA"] {
            assert!(is_postcode(text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_postcodes() {
        for text in ["", "M1", "EC1A", "EC1A  1BB", "EC1A 1B", "EC1A 11B", "ÉC1A 1BB", "1AA 1AA", "ABC1 1AA", "M1-1AA"]
        {
            assert!(!is_postcode(text), "{text}");
        }
    }
}
