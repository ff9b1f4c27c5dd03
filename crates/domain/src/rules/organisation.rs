//! The links to an employing school and to a training partner.

use crate::fields::value::Text;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::organisations::{
    UKPRN_DIGITS, URN_DIGITS, URNS_WITHOUT_SCHOOL, is_ukprn, is_urn,
};
use crate::records::record::Change;
use crate::records::trainee::{Trainee, TraineeField as F};
use crate::rules::Run;

rules! { Trainee:
    TRAINING_PARTNER("2.1") = "training_partner_known":
        "is a known training partner; a URN decides before a UKPRN, and a URN that stands for none removes the link",
        [F::training_partner_urn, F::training_partner_ukprn] => Run::Adjust(training_partner);
    EMPLOYING_SCHOOL("2.1") = "employing_school_known":
        "is a known school; a URN that stands for none removes the link",
        [F::employing_school_urn] => Run::Adjust(employing_school);
}

/// A key whose value is the stored one counts as not sent, so it decides nothing; it only keeps the
/// link when the other key is sent blank.
fn training_partner(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let set = |change: &Change<Text>| {
        if let Change::Set(text) = change {
            Some(text.clone())
        } else {
            None
        }
    };
    let (urn, ukprn) = (
        set(&candidate.requested().training_partner_urn),
        set(&candidate.requested().training_partner_ukprn),
    );
    let kept = |sent: bool, number: Option<Text>| number.filter(|_| sent);
    let sent_urn = kept(
        candidate.changes_any(&[F::training_partner_urn]),
        urn.clone(),
    );
    let sent_ukprn = kept(
        candidate.changes_any(&[F::training_partner_ukprn]),
        ukprn.clone(),
    );
    let (urn, ukprn) = if sent_urn.is_some() || sent_ukprn.is_some() {
        (sent_urn, sent_ukprn)
    } else {
        (urn, ukprn)
    };
    let ignored_ukprn = ukprn.clone().filter(|_| urn.is_some());
    let organisations = context.organisations;
    let linked = match (urn, ukprn) {
        (Some(urn), _) if URNS_WITHOUT_SCHOOL.contains(&urn.as_str()) => Ok((None, None)),
        (Some(urn), _) if !is_urn(&urn) => Err((
            F::training_partner_urn,
            ProblemKind::NotExactDigits { digits: URN_DIGITS },
        )),
        (Some(urn), _) => match organisations.training_partner_with_urn(&urn) {
            Some(partner) => Ok((partner.urn.clone(), partner.ukprn.clone())),
            None if organisations.no_training_partners_loaded => Ok((Some(urn), None)),
            None => Err((
                F::training_partner_urn,
                ProblemKind::NoSuchPartnerUrn { urn },
            )),
        },
        (None, Some(ukprn)) if !is_ukprn(&ukprn) => Err((
            F::training_partner_ukprn,
            ProblemKind::NotExactDigits {
                digits: UKPRN_DIGITS,
            },
        )),
        (None, Some(ukprn)) => match organisations.training_partner_with_ukprn(&ukprn) {
            Some(partner) => Ok((partner.urn.clone(), partner.ukprn.clone())),
            None if organisations.no_training_partners_loaded => Ok((None, Some(ukprn))),
            None => Err((
                F::training_partner_ukprn,
                ProblemKind::NoSuchPartnerUkprn { ukprn },
            )),
        },
        (None, None) => Ok((None, None)),
    };
    match linked {
        Ok((urn, ukprn)) => {
            if ignored_ukprn.is_some_and(|sent| ukprn.as_ref() != Some(&sent)) {
                let field = F::training_partner_urn.into();
                candidate.notice(F::training_partner_ukprn, NoticeKind::DecidedBy { field });
            }
            candidate.record.training_partner_urn = urn;
            candidate.record.training_partner_ukprn = ukprn;
        }
        Err((field, kind)) => candidate.reject(field, kind),
    }
}

fn employing_school(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let Some(urn) = candidate.record.employing_school_urn.clone() else {
        return;
    };
    let field = F::employing_school_urn;
    if URNS_WITHOUT_SCHOOL.contains(&urn.as_str()) {
        candidate.record.employing_school_urn = None;
    } else if !is_urn(&urn) {
        candidate.reject(field, ProblemKind::NotExactDigits { digits: URN_DIGITS });
    } else if context.organisations.school(&urn).is_none()
        && !context.organisations.no_schools_loaded
    {
        candidate.reject(field, ProblemKind::NoSuchSchool { urn });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::organisations::Organisations;
    use crate::records::trainee::{FlatTrainee, TraineeChanges};
    use crate::rules::Rule;
    use crate::rules::testing::{apply, apply_with};

    fn with(urn: Option<&str>, ukprn: Option<&str>, school: Option<&str>) -> TraineeChanges {
        let set =
            |value: Option<&str>| value.map_or(Change::Keep, |value| Change::Set(value.to_owned()));
        TraineeChanges {
            training_partner_urn: set(urn),
            training_partner_ukprn: set(ukprn),
            employing_school_urn: set(school),
            ..TraineeChanges::default()
        }
    }

    const BOTH: &[Rule<Trainee>] = &[TRAINING_PARTNER, EMPLOYING_SCHOOL];

    #[test]
    fn every_well_formed_number_is_known_while_nothing_is_loaded() {
        let none = Organisations {
            no_schools_loaded: true,
            no_training_partners_loaded: true,
            ..Organisations::default()
        };
        let linked = |changes| {
            let record = apply_with(&none, (), None, changes, BOTH)
                .into_result()
                .unwrap()
                .0;
            (
                record.training_partner_urn,
                record.training_partner_ukprn,
                record.employing_school_urn,
            )
        };
        let number = |text: &str| Some(text.to_owned());
        assert_eq!(
            linked(with(Some("123456"), None, None)),
            (number("123456"), None, None)
        );
        assert_eq!(
            linked(with(None, Some("12345678"), None)),
            (None, number("12345678"), None)
        );
        assert_eq!(
            linked(with(None, None, Some("123456"))),
            (None, None, number("123456"))
        );
        for changes in [
            with(Some("12345"), None, None),
            with(None, Some("1234567"), None),
            with(None, None, Some("1")),
        ] {
            assert_eq!(
                apply_with(&none, (), None, changes, BOTH).problems().len(),
                1
            );
        }
    }

    #[test]
    fn malformed_and_unknown_numbers_are_distinguished() {
        let kind = |changes| {
            apply((), None, changes, BOTH)
                .problems()
                .first()
                .unwrap()
                .kind
                .clone()
        };
        let digits = |digits| ProblemKind::NotExactDigits { digits };
        assert_eq!(kind(with(Some("12345"), None, None)), digits(6));
        assert_eq!(kind(with(None, Some("1234567"), None)), digits(8));
        assert_eq!(kind(with(None, None, Some("12345"))), digits(6));
        assert_eq!(
            kind(with(Some("654321"), None, None)),
            ProblemKind::NoSuchPartnerUrn {
                urn: "654321".into()
            }
        );
        let ukprn = "87654321".to_owned();
        assert_eq!(
            kind(with(None, Some(&ukprn), None)),
            ProblemKind::NoSuchPartnerUkprn { ukprn }
        );
        assert_eq!(
            kind(with(None, None, Some("654321"))),
            ProblemKind::NoSuchSchool {
                urn: "654321".into()
            }
        );
    }

    #[test]
    fn a_link_is_removed_when_every_key_that_is_sent_is_blank_whichever_numbers_the_partner_has() {
        let (urn, ukprn) = (Some("100001"), Some("10000001"));
        for (stored_urn, stored_ukprn) in [(None, ukprn), (urn, None), (urn, ukprn)] {
            let stored = FlatTrainee {
                training_partner_urn: stored_urn.map(str::to_owned),
                training_partner_ukprn: stored_ukprn.map(str::to_owned),
                ..FlatTrainee::default()
            };
            let left = |urn: Change<Text>, ukprn: Change<Text>| {
                let changes = TraineeChanges {
                    training_partner_urn: urn,
                    training_partner_ukprn: ukprn,
                    ..TraineeChanges::default()
                };
                let candidate = apply((), Some(&stored), changes, BOTH);
                assert_eq!(candidate.problems(), []);
                candidate.record
            };
            for (urn, ukprn) in [
                (Change::Clear, Change::Keep),
                (Change::Keep, Change::Clear),
                (Change::Blank, Change::Keep),
                (Change::Clear, Change::Blank),
            ] {
                assert_eq!(
                    left(urn, ukprn),
                    FlatTrainee::default(),
                    "{stored_urn:?} {stored_ukprn:?}"
                );
            }
            // As when the whole record is sent back.
            let shown = |number: Option<&str>| {
                number.map_or(Change::Clear, |number| Change::Set(number.to_owned()))
            };
            assert_eq!(left(shown(stored_urn), shown(stored_ukprn)), stored);
            assert_eq!(left(Change::Keep, Change::Keep), stored);
        }
    }
}
