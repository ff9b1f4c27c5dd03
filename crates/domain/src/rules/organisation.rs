//! The links to an employing school and to a training partner.

use crate::fields::value::Text;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::organisations::{
    Organisations, TrainingPartner, UKPRN_DIGITS, URN_DIGITS, URNS_WITHOUT_SCHOOL, is_ukprn, is_urn,
};
use crate::records::record::Change;
use crate::records::trainee::{Trainee, TraineeField as F};
use crate::rules::Run;

rules! { Trainee:
    TRAINING_PARTNER("2.1") = "training_partner_known":
        "is a known training partner; a URN takes precedence over a UKPRN, and a URN that means none removes the link",
        [F::training_partner_urn, F::training_partner_ukprn] => Run::Adjust(training_partner);
    EMPLOYING_SCHOOL("2.1") = "employing_school_known":
        "is a known school; a URN that means none removes the link",
        [F::employing_school_urn] => Run::Adjust(employing_school);
}

/// The URN and the UKPRN of a training partner.
#[derive(Debug, Clone, Default)]
struct PartnerNumbers {
    urn: Option<Text>,
    ukprn: Option<Text>,
}

/// Links the requested training partner, or removes the link. Reports a malformed or unknown
/// number.
fn training_partner(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let requested = requested_partner(candidate);
    match find_partner(&requested, context.organisations) {
        Ok(linked) => {
            let ignores_ukprn = requested.urn.is_some()
                && requested.ukprn.is_some()
                && requested.ukprn != linked.ukprn;
            if ignores_ukprn {
                let field = F::training_partner_urn.into();
                candidate.notice(F::training_partner_ukprn, NoticeKind::DecidedBy { field });
            }
            candidate.record.training_partner_urn = linked.urn;
            candidate.record.training_partner_ukprn = linked.ukprn;
        }
        Err((field, kind)) => candidate.reject(field, kind),
    }
}

/// Returns the numbers of the requested partner. If the request changes a number, only changed
/// numbers count, because the other one can belong to the former partner. Otherwise all sent
/// numbers count, so that a number sent unchanged keeps the link.
fn requested_partner(candidate: &Candidate<Trainee>) -> PartnerNumbers {
    let sent = PartnerNumbers {
        urn: sent_text(&candidate.requested().training_partner_urn),
        ukprn: sent_text(&candidate.requested().training_partner_ukprn),
    };
    let mut changed = sent.clone();
    if !candidate.changes_any(&[F::training_partner_urn]) {
        changed.urn = None;
    }
    if !candidate.changes_any(&[F::training_partner_ukprn]) {
        changed.ukprn = None;
    }
    if changed.urn.is_some() || changed.ukprn.is_some() {
        changed
    } else {
        sent
    }
}

fn sent_text(change: &Change<Text>) -> Option<Text> {
    if let Change::Set(text) = change {
        Some(text.clone())
    } else {
        None
    }
}

/// Returns both numbers of the requested partner. The URN has priority over the UKPRN. A URN
/// without a particular school results in no partner.
///
/// # Errors
///
/// The field and the problem of a malformed or unknown number.
fn find_partner(
    requested: &PartnerNumbers,
    organisations: &Organisations,
) -> Result<PartnerNumbers, (F, ProblemKind)> {
    if let Some(urn) = &requested.urn {
        let field = F::training_partner_urn;
        if URNS_WITHOUT_SCHOOL.contains(&urn.as_str()) {
            return Ok(PartnerNumbers::default());
        }
        if !is_urn(urn) {
            return Err((field, ProblemKind::NotExactDigits { digits: URN_DIGITS }));
        }
        return match organisations.training_partner_with_urn(urn) {
            Some(partner) => Ok(partner_numbers(partner)),
            None if organisations.no_training_partners_loaded => Ok(PartnerNumbers {
                urn: Some(urn.clone()),
                ukprn: None,
            }),
            None => Err((field, ProblemKind::NoSuchPartnerUrn { urn: urn.clone() })),
        };
    }
    if let Some(ukprn) = &requested.ukprn {
        let field = F::training_partner_ukprn;
        if !is_ukprn(ukprn) {
            let digits = UKPRN_DIGITS;
            return Err((field, ProblemKind::NotExactDigits { digits }));
        }
        return match organisations.training_partner_with_ukprn(ukprn) {
            Some(partner) => Ok(partner_numbers(partner)),
            None if organisations.no_training_partners_loaded => Ok(PartnerNumbers {
                urn: None,
                ukprn: Some(ukprn.clone()),
            }),
            None => {
                let ukprn = ukprn.clone();
                Err((field, ProblemKind::NoSuchPartnerUkprn { ukprn }))
            }
        };
    }
    Ok(PartnerNumbers::default())
}

fn partner_numbers(partner: &TrainingPartner) -> PartnerNumbers {
    PartnerNumbers {
        urn: partner.urn.clone(),
        ukprn: partner.ukprn.clone(),
    }
}

/// Reports a malformed or unknown URN of the employing school. A URN that stands for no particular
/// school removes the link.
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
    fn numbers_are_accepted_without_loaded_organisations() {
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
    fn link_is_removed_by_blank_numbers() {
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
            // A client sends back the whole record.
            let shown = |number: Option<&str>| {
                number.map_or(Change::Clear, |number| Change::Set(number.to_owned()))
            };
            assert_eq!(left(shown(stored_urn), shown(stored_ukprn)), stored);
            assert_eq!(left(Change::Keep, Change::Keep), stored);
        }
    }
}
