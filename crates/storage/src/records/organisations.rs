//! Schools and training partners: the organisations to which trainees and placements refer.
//!
//! Knows nothing of what it means when one is not found; that is for the rules.

use database::connection::{DatabaseConnection, QueryQueue as _, with_inner};
use diesel::dsl::exists;
use diesel::prelude::*;
use domain::records::organisations::{Organisations, School, TrainingPartner};
use postgres_client::PostgresConnection;

use crate::error::StorageError;
use crate::schema::{schools, training_partners};
use crate::session::{ProviderSession, Session};

pub mod merge;

const SANDBOX_SCHOOLS: &str = include_str!("../../sandbox/schools.csv");
const SANDBOX_PARTNERS: &str = include_str!("../../sandbox/training_partners.csv");

impl ProviderSession<'_> {
    /// The schools and training partners that a request mentions, as far as they are known.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn organisations(
        &mut self,
        school_urns: &[String],
        partner_urns: &[String],
        partner_ukprns: &[String],
    ) -> Result<Organisations, StorageError> {
        let (schools, training_partners) =
            found_by(self.connection, school_urns, partner_urns, partner_ukprns)?;
        // Whether a register is empty matters only where something was not found in it.
        let unknown_school = school_urns
            .iter()
            .any(|urn| schools.iter().all(|school| school.urn != *urn));
        let unknown_partner = partners_unknown(&training_partners, partner_urns, partner_ukprns);
        Ok(Organisations {
            no_schools_loaded: unknown_school && has_no_schools(self.connection)?,
            no_training_partners_loaded: unknown_partner && has_no_partners(self.connection)?,
            schools,
            training_partners,
        })
    }
}

impl Session<'_> {
    /// The first schools and training partners of the registers, as many of each as requested.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn first_organisations(&mut self, count: i64) -> Result<Organisations, StorageError> {
        let schools = schools::table
            .order(schools::id)
            .limit(count)
            .load::<SchoolRow>(self.connection)?;
        let partners = training_partners::table
            .order(training_partners::id)
            .limit(count)
            .load::<PartnerRow>(self.connection)?;
        Ok(Organisations {
            no_schools_loaded: schools.is_empty(),
            no_training_partners_loaded: partners.is_empty(),
            schools: schools.into_iter().map(school).collect(),
            training_partners: partners.into_iter().map(partner).collect(),
        })
    }

    /// Whether the register of schools, and whether that of training partners, is empty. While one
    /// is, every well-formed number counts as known.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn registers_empty(&mut self) -> Result<(bool, bool), StorageError> {
        Ok((
            has_no_schools(self.connection)?,
            has_no_partners(self.connection)?,
        ))
    }

    /// Fills the registers that are empty with invented organisations. One that holds anything
    /// stays as it is.
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

/// The schools with these URNs, in no particular order, and the training partners that have one of
/// these URNs or one of these UKPRNs, by key. Those that are not known are left out. After an
/// earlier import several partners may share a UKPRN.
fn found_by(
    connection: &mut DatabaseConnection,
    school_urns: &[String],
    partner_urns: &[String],
    partner_ukprns: &[String],
) -> Result<(Vec<School>, Vec<TrainingPartner>), StorageError> {
    let (schools, partners) = match connection {
        DatabaseConnection::Postgres(inner) => {
            rows_on_postgres(inner, school_urns, partner_urns, partner_ukprns)?
        }
        DatabaseConnection::Sqlite(inner) => {
            rows_on_sqlite(inner, school_urns, partner_urns, partner_ukprns)?
        }
    };
    Ok((
        schools.into_iter().map(school).collect(),
        partners.into_iter().map(partner).collect(),
    ))
}

/// In one round trip.
fn rows_on_postgres(
    connection: &mut PostgresConnection,
    school_urns: &[String],
    partner_urns: &[String],
    partner_ukprns: &[String],
) -> Result<(Vec<SchoolRow>, Vec<PartnerRow>), StorageError> {
    let schools = schools::table
        .filter(schools::urn.eq_any(school_urns.to_vec()))
        .order(schools::id);
    if partner_urns.is_empty() && partner_ukprns.is_empty() {
        let schools = if school_urns.is_empty() {
            Vec::new()
        } else {
            schools.load(connection)?
        };
        return Ok((schools, Vec::new()));
    }
    let schools = if school_urns.is_empty() {
        None
    } else {
        Some(connection.queue(schools)?)
    };
    let partners = training_partners::table
        .filter(
            training_partners::urn
                .eq_any(partner_urns)
                .or(training_partners::ukprn.eq_any(partner_ukprns)),
        )
        .order(training_partners::id)
        .load(connection)?;
    let schools = schools
        .map(|schools| connection.take(schools))
        .transpose()?
        .unwrap_or_default();
    Ok((schools, partners))
}

/// By statements that stay prepared, in place of one for each number of URNs that does not.
fn rows_on_sqlite(
    connection: &mut SqliteConnection,
    school_urns: &[String],
    partner_urns: &[String],
    partner_ukprns: &[String],
) -> Result<(Vec<SchoolRow>, Vec<PartnerRow>), StorageError> {
    let (mut schools, mut partners) = (Vec::new(), Vec::<PartnerRow>::new());
    for urn in school_urns {
        schools.extend(
            schools::table
                .filter(schools::urn.eq(urn))
                .load(connection)?,
        );
    }
    for urn in partner_urns {
        partners.extend(
            training_partners::table
                .filter(training_partners::urn.eq(urn))
                .load(connection)?,
        );
    }
    for ukprn in partner_ukprns {
        partners.extend(
            training_partners::table
                .filter(training_partners::ukprn.eq(ukprn))
                .load(connection)?,
        );
    }
    partners.sort_unstable_by_key(|(id, ..)| *id);
    partners.dedup_by_key(|(id, ..)| *id);
    Ok((schools, partners))
}

/// Whether no partner has one of these numbers.
fn partners_unknown(partners: &[TrainingPartner], urns: &[String], ukprns: &[String]) -> bool {
    let has = |number: fn(&TrainingPartner) -> Option<&str>, sought: &str| {
        partners
            .iter()
            .any(|partner| number(partner) == Some(sought))
    };
    urns.iter()
        .any(|urn| !has(|partner| partner.urn.as_deref(), urn))
        || ukprns
            .iter()
            .any(|ukprn| !has(|partner| partner.ukprn.as_deref(), ukprn))
}

type SchoolRow = (i64, String, String, Option<String>, bool);
type PartnerRow = (i64, Option<String>, Option<String>, String);

fn school((id, urn, name, postcode, open): SchoolRow) -> School {
    School {
        id,
        urn,
        name,
        postcode,
        open,
    }
}

fn partner((id, urn, ukprn, name): PartnerRow) -> TrainingPartner {
    TrainingPartner {
        id,
        urn,
        ukprn,
        name,
    }
}

fn has_no_schools(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let any = diesel::select(exists(schools::table.select(schools::id)));
    Ok(!with_inner!(connection, |inner| any.get_result::<bool>(inner))?)
}

fn has_no_partners(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let any = diesel::select(exists(
        training_partners::table.select(training_partners::id),
    ));
    Ok(!with_inner!(connection, |inner| any.get_result::<bool>(inner))?)
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
        assert_eq!(
            register.read(|session| session.registers_empty()).unwrap(),
            (true, true)
        );
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        assert_eq!(
            register.read(|session| session.registers_empty()).unwrap(),
            (false, false)
        );
        assert_eq!(
            register
                .read(|session| session.inspect())
                .unwrap()
                .organisations,
            [""; 0]
        );
    }

    #[test]
    fn schools_are_found_by_urn() {
        let register = Register::new();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        let urns = ["990001", "990017", "123456"].map(str::to_owned);
        let (mut found, _) = register
            .read(|session| found_by(session.connection, &urns, &[], &[]))
            .unwrap();
        found.sort_by(|one, other| one.urn.cmp(&other.urn));
        let [first, second] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (first.urn.as_str(), first.postcode.as_deref(), first.open),
            ("990001", Some("ZZ1 1AA"), true)
        );
        assert_eq!(
            (second.urn.as_str(), second.postcode.as_deref()),
            ("990017", None)
        );
        assert!(
            register
                .read(|session| found_by(session.connection, &[], &[], &[]))
                .unwrap()
                .0
                .is_empty()
        );
    }

    #[test]
    fn partners_are_found_by_urn_or_ukprn() {
        let register = Register::new();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        let (urns, ukprns) = (
            ["990004".to_owned()],
            ["10090101", "99999999"].map(str::to_owned),
        );
        let (_, found) = register
            .read(|session| found_by(session.connection, &[], &urns, &ukprns))
            .unwrap();
        let numbers: Vec<_> = found
            .iter()
            .map(|one| (one.urn.as_deref(), one.ukprn.as_deref()))
            .collect();
        assert_eq!(
            numbers,
            [(Some("990004"), Some("10090001")), (None, Some("10090101"))]
        );
    }

    #[test]
    fn a_partner_of_school_type_is_an_invented_school() {
        let register = Register::new();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        let urns: Vec<String> = csv::Reader::from_reader(SANDBOX_PARTNERS.as_bytes())
            .records()
            .filter_map(|line| present(line.unwrap().get(0).unwrap()).map(str::to_owned))
            .collect();
        assert_eq!(
            register
                .read(|session| found_by(session.connection, &urns, &[], &[]))
                .unwrap()
                .0
                .len(),
            20
        );
    }
}
