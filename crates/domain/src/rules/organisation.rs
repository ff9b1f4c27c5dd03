//! The links to an employing school and to a training partner.

use crate::candidate::Candidate;
use crate::dictionary::Change;
use crate::organisations::{URNS_WITHOUT_SCHOOL, is_ukprn, is_urn};
use crate::problem::ProblemKind;
use crate::rules::{Context, Rule, Run};
use crate::trainee::{Trainee, TraineeField};
use crate::value::Text;

/// Digits of a URN.
pub(crate) const URN_DIGITS: usize = 6;
/// Digits of a UKPRN.
const UKPRN_DIGITS: usize = 8;

/// A training partner is linked by URN or by UKPRN.
pub const TRAINING_PARTNER: Rule<Trainee> = Rule {
    name: "training_partner_known",
    demands: "is a known training partner; a URN decides before a UKPRN, and a URN that stands for none removes the link",
    section: "2.1",
    reads: &[TraineeField::training_partner_urn, TraineeField::training_partner_ukprn],
    run: Run::Adjust(training_partner),
};

/// An employing school is linked by URN.
pub const EMPLOYING_SCHOOL: Rule<Trainee> = Rule {
    name: "employing_school_known",
    demands: "is a known school; a URN that stands for none removes the link",
    section: "2.1",
    reads: &[TraineeField::employing_school_urn],
    run: Run::Adjust(employing_school),
};

/// A key whose value is the stored one counts as not sent, so it decides nothing; but it keeps the link beside a key that
/// is sent blank.
fn training_partner(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let asked = |change: &Change<Text>| if let Change::Set(text) = change { Some(text.clone()) } else { None };
    let (urn, ukprn) =
        (asked(&candidate.asked().training_partner_urn), asked(&candidate.asked().training_partner_ukprn));
    let kept = |sent: bool, asked: Option<Text>| asked.filter(|_| sent);
    let sent_urn = kept(candidate.touches(&[TraineeField::training_partner_urn]), urn.clone());
    let sent_ukprn = kept(candidate.touches(&[TraineeField::training_partner_ukprn]), ukprn.clone());
    let (urn, ukprn) = if sent_urn.is_some() || sent_ukprn.is_some() { (sent_urn, sent_ukprn) } else { (urn, ukprn) };
    let organisations = context.organisations;
    let linked = match (urn, ukprn) {
        (Some(urn), _) if URNS_WITHOUT_SCHOOL.contains(&urn.as_str()) => Ok((None, None)),
        (Some(urn), _) if !is_urn(&urn) => {
            Err((TraineeField::training_partner_urn, ProblemKind::NotExactDigits { digits: URN_DIGITS }))
        }
        (Some(urn), _) => match organisations.training_partner_with_urn(&urn) {
            Some(partner) => Ok((partner.urn.clone(), partner.ukprn.clone())),
            None if organisations.no_training_partners_loaded => Ok((Some(urn), None)),
            None => Err((TraineeField::training_partner_urn, ProblemKind::NoSuchPartnerUrn { urn })),
        },
        (None, Some(ukprn)) if !is_ukprn(&ukprn) => {
            Err((TraineeField::training_partner_ukprn, ProblemKind::NotExactDigits { digits: UKPRN_DIGITS }))
        }
        (None, Some(ukprn)) => match organisations.training_partner_with_ukprn(&ukprn) {
            Some(partner) => Ok((partner.urn.clone(), partner.ukprn.clone())),
            None if organisations.no_training_partners_loaded => Ok((None, Some(ukprn))),
            None => Err((TraineeField::training_partner_ukprn, ProblemKind::NoSuchPartnerUkprn { ukprn })),
        },
        (None, None) => Ok((None, None)),
    };
    match linked {
        Ok((urn, ukprn)) => {
            candidate.record.training_partner_urn = urn;
            candidate.record.training_partner_ukprn = ukprn;
        }
        Err((field, kind)) => candidate.object(field, kind),
    }
}

fn employing_school(candidate: &mut Candidate<Trainee>, context: &Context<'_>) {
    let Some(urn) = candidate.record.employing_school_urn.clone() else { return };
    let field = TraineeField::employing_school_urn;
    if URNS_WITHOUT_SCHOOL.contains(&urn.as_str()) {
        candidate.record.employing_school_urn = None;
    } else if !is_urn(&urn) {
        candidate.object(field, ProblemKind::NotExactDigits { digits: URN_DIGITS });
    } else if context.organisations.school(&urn).is_none() && !context.organisations.no_schools_loaded {
        candidate.object(field, ProblemKind::NoSuchSchool { urn });
    }
}
