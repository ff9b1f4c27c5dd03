//! Schools and training partners that a request names. Callers load them before the rules run.

/// A school of the national register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct School {
    /// The number of the school in this service, shown as `school_id`.
    pub id: i64,
    /// The unique reference number, 6 digits.
    pub urn: String,
    /// The name.
    pub name: String,
    /// The postcode; `None` if it is unknown.
    pub postcode: Option<String>,
    /// Whether the school is open. Closed schools are accepted, too.
    pub open: bool,
}

/// An organisation that delivers training together with the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingPartner {
    /// The number of the partner in this service.
    pub id: i64,
    /// The URN; `None` if the partner is not a school.
    pub urn: Option<String>,
    /// The UK provider reference number, 8 digits; `None` if the partner has none.
    pub ukprn: Option<String>,
    /// The name.
    pub name: String,
}

/// URNs that stand for no particular school, from the sector's code list. In order: outside England
/// and Wales, not applicable or not available, no URN exists, not available.
pub const URNS_WITHOUT_SCHOOL: [&str; 4] = ["900000", "900010", "900020", "900030"];

/// The URN that record systems export for an unknown URN.
const EMPTY_URN: &str = "000000";

/// Whether the URN is reserved. No school and no training partner has a reserved URN.
#[must_use]
pub fn is_reserved_urn(urn: &str) -> bool {
    urn == EMPTY_URN || URNS_WITHOUT_SCHOOL.contains(&urn)
}

/// The known schools and training partners that a request names.
#[derive(Debug, Clone, Default)]
pub struct Organisations {
    /// The schools with a URN in the request.
    pub schools: Vec<School>,
    /// The training partners with a URN or UKPRN in the request.
    pub training_partners: Vec<TrainingPartner>,
    /// Whether the register has no schools. Then every well-formed URN is accepted.
    pub no_schools_loaded: bool,
    /// Whether the register has no training partners. Then every well-formed number is accepted.
    pub no_training_partners_loaded: bool,
}

impl Organisations {
    /// Returns the school with the URN. Returns `None` for an unknown URN, and for a reserved URN
    /// even if an import has stored a school with that URN.
    #[must_use]
    pub fn school(&self, urn: &str) -> Option<&School> {
        self.schools
            .iter()
            .find(|school| school.urn == urn && !is_reserved_urn(urn))
    }

    /// Returns the training partner with the URN, or `None` for an unknown or reserved URN.
    #[must_use]
    pub fn training_partner_with_urn(&self, urn: &str) -> Option<&TrainingPartner> {
        self.training_partners
            .iter()
            .find(|partner| partner.urn.as_deref() == Some(urn) && !is_reserved_urn(urn))
    }

    /// Returns the training partner with the UKPRN, or `None` for an unknown UKPRN.
    #[must_use]
    pub fn training_partner_with_ukprn(&self, ukprn: &str) -> Option<&TrainingPartner> {
        self.training_partners
            .iter()
            .find(|partner| partner.ukprn.as_deref() == Some(ukprn))
    }
}

/// The number of digits in a URN.
pub(crate) const URN_DIGITS: usize = 6;
/// The number of digits in a UKPRN.
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
    fn reserved_urns_find_no_organisation() {
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
