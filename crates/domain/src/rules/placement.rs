//! Placements (contract, sections 2.2 and 4.9).

use crate::fields::value::Text;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::organisations::{URN_DIGITS, is_urn};
use crate::records::placement::{Placement, PlacementField as F};
use crate::records::record::{Change, Record as _};
use crate::rules::{Findings, Run, found_if};

rules! { Placement:
    URN("2.2") = "placement_urn_form": "has 6 digits", [F::urn] => Run::Check(urn_form);
    SCHOOL("2.2") = "placement_school":
        "a known school sets the name and postcode of the placement, which are removed when the school is",
        [F::urn, F::name, F::postcode] => Run::Adjust(school);
    NAME("2.2") = "placement_name_required":
        "is required unless the URN is that of a known school, and must not be blank text",
        [F::name, F::urn] => Run::CheckNeeding(&[F::name], name);
    POSTCODE("2.2") = "placement_postcode_form":
        "is a full UK postcode, unless the URN is that of a known school",
        [F::postcode, F::urn] => Run::CheckNeeding(&[F::postcode], postcode);
}

/// Reports a text that is not a URN.
fn urn_form(candidate: &Candidate<Placement>, _: &Context<'_>) -> Findings {
    let wrong = candidate
        .record
        .urn
        .as_deref()
        .is_some_and(|urn| !is_urn(urn));
    found_if(wrong, F::urn, || ProblemKind::NotExactDigits {
        digits: URN_DIGITS,
    })
}

/// Copies the name and the postcode of the known school to the placement. Without a known school,
/// removes the copied values of the former school.
fn school(candidate: &mut Candidate<Placement>, context: &Context<'_>) {
    let known = candidate
        .record
        .urn
        .as_deref()
        .and_then(|urn| context.organisations.school(urn));
    let Some(school) = known else {
        // The name and the postcode of the former school are removed unless the request sends them.
        if candidate.record.school_id.take().is_some() {
            if !candidate.has_key(F::name) {
                candidate.record.name = None;
            }
            if !candidate.has_key(F::postcode) {
                candidate.record.postcode = None;
            }
        }
        return;
    };
    // Compares the requested values: text that is too long is not in the record. In a new record,
    // null counts as not sent.
    let is_new = candidate.is_new();
    let differs = |requested: &Change<Text>, value_of_school: Option<&str>| match requested {
        Change::Set(sent) => Some(sent.as_str()) != value_of_school,
        Change::Clear | Change::Blank => !is_new && value_of_school.is_some(),
        Change::Keep => false,
    };
    let other_name = differs(&candidate.requested().name, Some(&school.name));
    let other_postcode = differs(&candidate.requested().postcode, school.postcode.as_deref());
    if candidate.changes(F::name) && other_name {
        candidate.notice(F::name, NoticeKind::GivenBySchool);
    }
    if candidate.changes(F::postcode) && other_postcode {
        candidate.notice(F::postcode, NoticeKind::GivenBySchool);
    }
    candidate.record.name = Some(school.name.clone());
    candidate.record.postcode.clone_from(&school.postcode);
    candidate.record.school_id = Some(school.id);
}

/// Reports a name that is blank, or missing without a school that provides it.
fn name(candidate: &Candidate<Placement>, context: &Context<'_>) -> Findings {
    // With an invalid URN, the name may be missing: a school may provide it.
    let missing = candidate.is_valid(&[F::urn])
        && candidate.record.name.is_none()
        && !is_given(F::name, candidate, context);
    found_if(missing || candidate.is_blank(F::name), F::name, || {
        ProblemKind::Blank
    })
}

/// Reports a text that is not a postcode, unless a known school provides the postcode.
fn postcode(candidate: &Candidate<Placement>, context: &Context<'_>) -> Findings {
    let wrong = candidate.record.school_id.is_none()
        && !is_given(F::postcode, candidate, context)
        && candidate
            .record
            .postcode
            .as_deref()
            .is_some_and(|postcode| !is_postcode(postcode));
    found_if(wrong, F::postcode, || ProblemKind::NotPostcode)
}

/// Whether a known school provides the value of the field.
fn is_given(field: F, candidate: &Candidate<Placement>, context: &Context<'_>) -> bool {
    Placement::ignored_fields(&candidate.record, context.organisations).contains(&field)
}

/// Whether the text is a full postcode of the United Kingdom. Case is ignored and the space is
/// optional. The outward part is one or two letters, a digit, and optionally a digit or letter. The
/// inward part is a digit and two letters.
fn is_postcode(text: &str) -> bool {
    const INWARD_LENGTH: usize = 3;
    let Some((outward, inward)) = text
        .len()
        .checked_sub(INWARD_LENGTH)
        .and_then(|at| text.split_at_checked(at))
    else {
        return false;
    };
    let outward = outward.strip_suffix(' ').unwrap_or(outward);
    // `9` stands for any digit, and `A` for any letter.
    let shape: String = outward
        .chars()
        .map(|character| match character {
            '0'..='9' => '9',
            'a'..='z' | 'A'..='Z' => 'A',
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
    use crate::problem::Path;
    use crate::records::placement::PlacementChanges;
    use crate::rules::testing::{apply, apply_with, paths};

    /// Returns a placement in the school with a postcode.
    fn linked() -> Placement {
        Placement {
            urn: Some("100001".to_owned()),
            name: Some("Elmfield School".to_owned()),
            postcode: Some("AB1 2CD".to_owned()),
            school_id: Some(1),
            ..Placement::default()
        }
    }

    fn change(urn: Option<&str>, name: Option<&str>, postcode: Option<&str>) -> PlacementChanges {
        let set =
            |value: Option<&str>| value.map_or(Change::Keep, |value| Change::Set(value.to_owned()));
        PlacementChanges {
            urn: set(urn),
            name: set(name),
            postcode: set(postcode),
        }
    }

    /// Returns the name and the postcode after a request, and the paths of the notices.
    fn left(
        stored: Option<&Placement>,
        changes: PlacementChanges,
    ) -> (Option<String>, Option<String>, Vec<Path>) {
        let (record, notices) = apply((), stored, changes, &[SCHOOL]).into_result().unwrap();
        (
            record.name,
            record.postcode,
            notices.into_iter().map(|notice| notice.at).collect(),
        )
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn placement_without_school_keeps_name_and_postcode() {
        let own = Placement {
            school_id: None,
            urn: text("123456"),
            ..linked()
        };
        let moved = left(Some(&own), change(Some("654321"), None, None));
        assert_eq!(moved, (text("Elmfield School"), text("AB1 2CD"), vec![]));
    }

    #[test]
    fn placement_leaving_school_keeps_sent_values() {
        let elsewhere = Some("123456");
        assert_eq!(
            left(Some(&linked()), change(elsewhere, None, None)),
            (None, None, vec![])
        );
        let named = change(elsewhere, Some("Elmfield School"), None);
        assert_eq!(
            left(Some(&linked()), named),
            (text("Elmfield School"), None, vec![])
        );
        let placed = change(elsewhere, None, Some("AB1 2CD"));
        assert_eq!(
            left(Some(&linked()), placed),
            (None, text("AB1 2CD"), vec![])
        );
    }

    #[test]
    fn values_different_from_school_get_notice() {
        let (name, postcode) = (F::name.into(), F::postcode.into());
        let school = || (text("Elmfield School"), text("AB1 2CD"));
        for (sent_name, sent_postcode, noticed) in [
            (None, None, vec![]),
            (Some("Elmfield School"), Some("AB1 2CD"), vec![]),
            (Some("Other"), Some("AB1 2CD"), vec![name]),
            (Some("Elmfield School"), Some("M1 1AA"), vec![postcode]),
        ] {
            let (given_name, given_postcode) = school();
            let changes = change(Some("100001"), sent_name, sent_postcode);
            assert_eq!(
                left(None, changes),
                (given_name, given_postcode, noticed),
                "{sent_name:?} {sent_postcode:?}"
            );
        }
        let noticed = vec![F::postcode.into()];
        let changes = change(Some("100002"), None, Some("M1 1AA"));
        assert_eq!(
            left(None, changes),
            (text("Ashfield School"), None, noticed)
        );
    }

    /// The name and the postcode of the school have changed since the placement was stored.
    #[test]
    fn unsent_outdated_values_get_no_notice() {
        let outdated = Placement {
            name: text("Old name"),
            postcode: text("M1 1AA"),
            ..linked()
        };
        let (name, postcode) = (F::name.into(), F::postcode.into());
        for (changes, noticed) in [
            (change(None, Some("New"), None), name),
            (change(None, None, Some("M2 2AA")), postcode),
        ] {
            assert_eq!(
                left(Some(&outdated), changes),
                (text("Elmfield School"), text("AB1 2CD"), vec![noticed])
            );
        }
    }

    #[test]
    fn full_postcodes_of_all_forms_are_accepted() {
        for text in [
            "M1 1AA", "M60 1NW", "CR2 6XH", "DN55 1PT", "W1A 1HQ", "EC1A 1BB", "ec1a1bb",
            "Sw1a 2aA",
        ] {
            assert!(is_postcode(text), "{text}");
        }
    }

    #[test]
    fn malformed_postcodes_are_rejected() {
        for text in [
            "",
            "M1",
            "EC1A",
            "EC1A  1BB",
            "EC1A 1B",
            "EC1A 11B",
            "ÉC1A 1BB",
            "1AA 1AA",
            "ABC1 1AA",
            "M1-1AA",
            "M1 AAA",
            "M١ 1AA",
        ] {
            assert!(!is_postcode(text), "{text}");
        }
    }

    #[test]
    fn postcode_of_school_is_not_validated() {
        let mut organisations = crate::rules::testing::organisations();
        organisations.schools[0].postcode = text("none");
        let rules = [SCHOOL, POSTCODE];
        let placed = apply_with(
            &organisations,
            (),
            None,
            change(Some("100001"), None, None),
            &rules,
        );
        assert_eq!(
            (placed.problems(), &placed.record.postcode),
            (&[][..], &text("none"))
        );
        let elsewhere = apply_with(
            &organisations,
            (),
            None,
            change(Some("123456"), None, Some("none")),
            &rules,
        );
        assert_eq!(elsewhere.problems().len(), 1);
    }

    #[test]
    fn unreadable_postcode_is_ignored_in_known_school() {
        let mut sent = crate::ParsedRecord::from_changes(change(Some("100001"), None, None));
        sent.unread.insert(F::postcode);
        let organisations = crate::rules::testing::organisations();
        let context = crate::rules::testing::context(&organisations);
        let mut candidate = Candidate::new((), None, sent, &context);
        crate::rules::apply(&mut candidate, &[URN, SCHOOL, NAME, POSTCODE], &context);
        assert_eq!(candidate.problems(), []);
    }

    #[test]
    fn former_school_postcode_is_validated_when_sent() {
        let odd = Placement {
            postcode: text("none"),
            ..linked()
        };
        let leaves = change(Some("123456"), Some("A school"), Some("none"));
        let candidate = apply((), Some(&odd), leaves, &[URN, SCHOOL, NAME, POSTCODE]);
        assert_eq!(paths(&candidate), [F::postcode.into()]);
    }

    #[test]
    fn blank_name_is_reported_beside_wrong_urn() {
        let rules = [URN, NAME];
        let blank = PlacementChanges {
            name: Change::Blank,
            ..change(Some("zz"), None, None)
        };
        assert_eq!(
            paths(&apply((), None, blank, &rules)),
            [F::urn.into(), F::name.into()]
        );
        assert_eq!(
            paths(&apply((), None, change(Some("zz"), None, None), &rules)),
            [F::urn.into()]
        );
    }
}
