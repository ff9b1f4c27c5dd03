//! Schools and training partners: the organisations to which trainees and placements refer.
//!
//! Knows nothing of what it means when one is not found; that is for the rules.

use diesel::prelude::*;

use crate::error::StorageError;
use crate::schema::{schools, training_partners};
use crate::session::Session;

/// A school of the register of schools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct School {
    /// The register's own key.
    pub id: i64,
    /// The unique reference number, six digits.
    pub urn: String,
    /// The school's name.
    pub name: String,
    /// The school's postcode, where it is known.
    pub postcode: Option<String>,
    /// Whether it is open. A closed school is still known.
    pub open: bool,
}

/// An organisation that trains together with a provider: a school with a URN, or a university with a UKPRN only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainingPartner {
    /// The register's own key.
    pub id: i64,
    /// The unique reference number of its school, six digits.
    pub urn: Option<String>,
    /// The UK provider reference number, eight digits.
    pub ukprn: Option<String>,
    /// The partner's name.
    pub name: String,
}

const SANDBOX_SCHOOLS: &str = include_str!("../sandbox/schools.csv");
const SANDBOX_PARTNERS: &str = include_str!("../sandbox/training_partners.csv");

impl Session<'_> {
    /// The schools with these URNs, in no particular order; those that are not known are left out.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn schools_by_urn(&mut self, urns: &[&str]) -> Result<Vec<School>, StorageError> {
        if urns.is_empty() {
            return Ok(Vec::new());
        }
        let rows = schools::table
            .filter(schools::urn.eq_any(urns))
            .load::<(i64, String, String, Option<String>, bool)>(self.connection)?;
        let school = |(id, urn, name, postcode, open)| School { id, urn, name, postcode, open };
        Ok(rows.into_iter().map(school).collect())
    }

    /// The training partners that have one of these URNs or one of these UKPRNs, by key. Several may share a UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn partners_by(&mut self, urns: &[&str], ukprns: &[&str]) -> Result<Vec<TrainingPartner>, StorageError> {
        if urns.is_empty() && ukprns.is_empty() {
            return Ok(Vec::new());
        }
        let rows = training_partners::table
            .filter(training_partners::urn.eq_any(urns).or(training_partners::ukprn.eq_any(ukprns)))
            .order(training_partners::id)
            .load::<(i64, Option<String>, Option<String>, String)>(self.connection)?;
        let partner = |(id, urn, ukprn, name)| TrainingPartner { id, urn, ukprn, name };
        Ok(rows.into_iter().map(partner).collect())
    }

    /// Whether the register of schools, and whether that of training partners, is empty. While one is, every
    /// well-formed number counts as known.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn registers_empty(&mut self) -> Result<(bool, bool), StorageError> {
        let school = schools::table.select(schools::id).first::<i64>(self.connection).optional()?;
        let partner =
            training_partners::table.select(training_partners::id).first::<i64>(self.connection).optional()?;
        Ok((school.is_none(), partner.is_none()))
    }

    /// Fills the registers that are empty with invented organisations. One that holds anything stays as it is.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn ensure_sandbox_organisations(&mut self) -> Result<(), StorageError> {
        let (no_schools, no_partners) = self.registers_empty()?;
        if no_schools {
            for line in csv::Reader::from_reader(SANDBOX_SCHOOLS.as_bytes()).records() {
                let line = line.map_err(StorageError::SandboxOrganisations)?;
                let cell = |column| line.get(column).unwrap_or_default();
                diesel::insert_into(schools::table)
                    .values((
                        schools::urn.eq(cell(0)),
                        schools::name.eq(cell(1)),
                        schools::postcode.eq(present(cell(2))),
                        schools::open.eq(cell(3) == "Open"),
                    ))
                    .execute(self.connection)?;
            }
        }
        if no_partners {
            for line in csv::Reader::from_reader(SANDBOX_PARTNERS.as_bytes()).records() {
                let line = line.map_err(StorageError::SandboxOrganisations)?;
                let cell = |column| line.get(column).unwrap_or_default();
                diesel::insert_into(training_partners::table)
                    .values((
                        training_partners::urn.eq(present(cell(0))),
                        training_partners::ukprn.eq(present(cell(1))),
                        training_partners::name.eq(cell(2)),
                    ))
                    .execute(self.connection)?;
            }
        }
        Ok(())
    }
}

fn present(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| !cell.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Register;

    #[test]
    fn the_sandbox_fills_empty_registers_once() {
        let register = Register::new();
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (true, true));
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (false, false));
    }

    #[test]
    fn schools_are_found_by_urn() {
        let register = Register::new();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        let mut found = register.read(|session| session.schools_by_urn(&["990001", "990017", "123456"])).unwrap();
        found.sort_by(|one, other| one.urn.cmp(&other.urn));
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.urn.as_str(), first.postcode.as_deref(), first.open), ("990001", Some("ZZ1 1AA"), true));
        assert_eq!((second.urn.as_str(), second.postcode.as_deref()), ("990017", None));
        assert!(register.read(|session| session.schools_by_urn(&[])).unwrap().is_empty());
    }

    #[test]
    fn partners_are_found_by_urn_or_ukprn() {
        let register = Register::new();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        let found = register.read(|session| session.partners_by(&["990004"], &["10090101", "99999999"])).unwrap();
        let numbers: Vec<_> = found.iter().map(|one| (one.urn.as_deref(), one.ukprn.as_deref())).collect();
        assert_eq!(numbers, [(Some("990004"), Some("10090001")), (None, Some("10090101"))]);
    }

    #[test]
    fn a_partner_of_school_type_is_an_invented_school() {
        let register = Register::new();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        let urns: Vec<String> = csv::Reader::from_reader(SANDBOX_PARTNERS.as_bytes())
            .records()
            .filter_map(|line| present(line.unwrap().get(0).unwrap()).map(str::to_owned))
            .collect();
        let urns: Vec<&str> = urns.iter().map(String::as_str).collect();
        assert_eq!(register.read(|session| session.schools_by_urn(&urns)).unwrap().len(), 20);
    }
}
