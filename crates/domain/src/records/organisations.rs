//! Schools and training partners, as far as a request mentions them.
//!
//! They are looked up before the rules run; nothing here asks a register.

/// A school of the national register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct School {
    /// The school's number in this service, shown as `school_id`.
    pub id: i64,
    /// Unique reference number, 6 digits.
    pub urn: String,
    /// Name.
    pub name: String,
    /// Postcode, when it is known.
    pub postcode: Option<String>,
    /// Whether the school is open. A closed school is still known.
    pub open: bool,
}

/// An organisation that delivers training together with the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingPartner {
    /// The partner's number in this service.
    pub id: i64,
    /// URN, when the partner is a school.
    pub urn: Option<String>,
    /// UK provider reference number, 8 digits, when the partner has one.
    pub ukprn: Option<String>,
    /// Name.
    pub name: String,
}

/// URNs that stand for no particular school: outside England and Wales, not applicable or not
/// available, no URN exists, not available (sector code list).
pub const URNS_WITHOUT_SCHOOL: [&str; 4] = ["900000", "900010", "900020", "900030"];

/// URN without a meaning that record systems export where they have none.
const EMPTY_URN: &str = "000000";

/// Whether the URN is reserved: no school and no training partner has it.
#[must_use]
pub fn is_reserved_urn(urn: &str) -> bool {
    urn == EMPTY_URN || URNS_WITHOUT_SCHOOL.contains(&urn)
}

/// The schools and training partners that a request mentions, as they were found.
#[derive(Debug, Clone, Default)]
pub struct Organisations {
    /// Schools with one of the URNs.
    pub schools: Vec<School>,
    /// Training partners with one of the URNs or UKPRNs.
    pub training_partners: Vec<TrainingPartner>,
    /// Whether no school has been loaded at all, so that every well-formed URN counts as known.
    pub no_schools_loaded: bool,
    /// Whether no training partner has been loaded at all.
    pub no_training_partners_loaded: bool,
}

impl Organisations {
    /// The school with the URN; `None` for a reserved URN, whatever an earlier import has stored.
    #[must_use]
    pub fn school(&self, urn: &str) -> Option<&School> {
        self.schools
            .iter()
            .find(|school| school.urn == urn && !is_reserved_urn(urn))
    }

    /// The training partner with the URN; `None` for a reserved URN, as for schools.
    #[must_use]
    pub fn training_partner_with_urn(&self, urn: &str) -> Option<&TrainingPartner> {
        self.training_partners
            .iter()
            .find(|partner| partner.urn.as_deref() == Some(urn) && !is_reserved_urn(urn))
    }

    /// The training partner with the UKPRN.
    #[must_use]
    pub fn training_partner_with_ukprn(&self, ukprn: &str) -> Option<&TrainingPartner> {
        self.training_partners
            .iter()
            .find(|partner| partner.ukprn.as_deref() == Some(ukprn))
    }
}

/// Digits of a URN.
pub(crate) const URN_DIGITS: usize = 6;
/// Digits of a UKPRN.
pub(crate) const UKPRN_DIGITS: usize = 8;

/// Whether the text has the form of a URN: 6 digits.
#[must_use]
pub fn is_urn(text: &str) -> bool {
    text.len() == URN_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text has the form of a UKPRN: 8 digits.
#[must_use]
pub fn is_ukprn(text: &str) -> bool {
    text.len() == UKPRN_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn organisations_with_a_reserved_urn_are_not_found() {
        for urn in URNS_WITHOUT_SCHOOL.into_iter().chain([EMPTY_URN]) {
            let name = "Stored by an earlier import".to_owned();
            let school = School {
                id: 1,
                urn: urn.to_owned(),
                name: name.clone(),
                postcode: None,
                open: true,
            };
            let partner = TrainingPartner {
                id: 1,
                urn: Some(urn.to_owned()),
                ukprn: None,
                name,
            };
            let stored = Organisations {
                schools: vec![school],
                training_partners: vec![partner],
                ..Organisations::default()
            };
            assert_eq!(
                (stored.school(urn), stored.training_partner_with_urn(urn)),
                (None, None),
                "{urn}"
            );
        }
    }
}
