//! Schools and training partners, the organisations that trainees and placements refer to.
//!
//! The rules of the domain decide what to do about unknown organisations.

use database::connection::{DatabaseConnection, with_inner};
use diesel::dsl::exists;
use diesel::prelude::*;
use domain::records::organisations::{Organisations, School, TrainingPartner};
use postgres_client::PostgresConnection;

use crate::error::StorageError;
use crate::schema::{schools, training_partners};
use crate::session::{ProviderSession, Session};

pub mod merge;

/// Invented schools: URN, name, postcode and status.
const SANDBOX_SCHOOLS: &str = include_str!("../../sandbox/schools.csv");
/// Invented training partners: URN, UKPRN and name.
const SANDBOX_PARTNERS: &str = include_str!("../../sandbox/training_partners.csv");

impl ProviderSession<'_> {
    /// The known schools and training partners among the numbers of a request.
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
        // An import of schools locks each provider after its commit: what is read here is either new,
        // or the import finds the record and updates it.
        self.lock_records()?;
        let (schools, training_partners) =
            found_by(self.connection, school_urns, partner_urns, partner_ukprns)?;
        // Check whether a register is empty only if it lacks one of the numbers.
        let unknown_school = school_urns
            .iter()
            .any(|urn| schools.iter().all(|school| school.urn != *urn));
        let unknown_partner = has_unknown_partner(&training_partners, partner_urns, partner_ukprns);
        Ok(Organisations {
            no_schools_loaded: unknown_school && has_no_schools(self.connection)?,
            no_training_partners_loaded: unknown_partner && has_no_partners(self.connection)?,
            schools,
            training_partners,
        })
    }
}

impl Session<'_> {
    /// The first `count` schools and the first `count` training partners of the registers.
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

    /// Returns whether the register of schools is empty, and whether the register of training
    /// partners is empty. An empty register accepts every well-formed number.
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

    /// Fills empty registers with invented organisations. Does not change a register with rows.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn ensure_sandbox_organisations(&mut self) -> Result<(), StorageError> {
        let (no_schools, no_partners) = self.registers_empty()?;
        if no_schools {
            insert_sandbox_schools(self.connection)?;
        }
        if no_partners {
            insert_sandbox_partners(self.connection)?;
        }
        Ok(())
    }
}

/// Inserts the invented schools of [`SANDBOX_SCHOOLS`].
fn insert_sandbox_schools(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    for line in csv::Reader::from_reader(SANDBOX_SCHOOLS.as_bytes()).records() {
        let line = line.map_err(StorageError::SandboxOrganisations)?;
        let cell = |column| line.get(column).unwrap_or_default();
        diesel::insert_into(schools::table)
            .values((
                schools::urn.eq(cell(0)),
                schools::name.eq(cell(1)),
                schools::postcode.eq(non_empty(cell(2))),
                schools::open.eq(cell(3) == "Open"),
            ))
            .execute(connection)?;
    }
    Ok(())
}

/// Inserts the invented training partners of [`SANDBOX_PARTNERS`].
fn insert_sandbox_partners(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    for line in csv::Reader::from_reader(SANDBOX_PARTNERS.as_bytes()).records() {
        let line = line.map_err(StorageError::SandboxOrganisations)?;
        let cell = |column| line.get(column).unwrap_or_default();
        diesel::insert_into(training_partners::table)
            .values((
                training_partners::urn.eq(non_empty(cell(0))),
                training_partners::ukprn.eq(non_empty(cell(1))),
                training_partners::name.eq(cell(2)),
            ))
            .execute(connection)?;
    }
    Ok(())
}

/// The known schools with these URNs, in no particular order, and the known training partners with
/// one of these URNs or UKPRNs, ordered by key. Several partners may share a UKPRN, from an import
/// by an older program.
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

/// Like [`found_by`], with one query per table.
fn rows_on_postgres(
    connection: &mut PostgresConnection,
    school_urns: &[String],
    partner_urns: &[String],
    partner_ukprns: &[String],
) -> Result<(Vec<SchoolRow>, Vec<PartnerRow>), StorageError> {
    let mut schools = Vec::new();
    let mut partners = Vec::new();
    if !school_urns.is_empty() {
        schools = schools::table
            .filter(schools::urn.eq_any(school_urns))
            .order(schools::id)
            .load(connection)?;
    }
    if !partner_urns.is_empty() || !partner_ukprns.is_empty() {
        let has_number = training_partners::urn
            .eq_any(partner_urns)
            .or(training_partners::ukprn.eq_any(partner_ukprns));
        partners = training_partners::table
            .filter(has_number)
            .order(training_partners::id)
            .load(connection)?;
    }
    Ok((schools, partners))
}

/// Like [`found_by`], with one query per number. These queries stay prepared; a query for a list of
/// numbers would be prepared again for each length of the list.
fn rows_on_sqlite(
    connection: &mut SqliteConnection,
    school_urns: &[String],
    partner_urns: &[String],
    partner_ukprns: &[String],
) -> Result<(Vec<SchoolRow>, Vec<PartnerRow>), StorageError> {
    let mut schools = Vec::new();
    let mut partners = Vec::<PartnerRow>::new();
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
    // A partner may be found by its URN and by its UKPRN.
    partners.sort_unstable_by_key(|(id, ..)| *id);
    partners.dedup_by_key(|(id, ..)| *id);
    Ok((schools, partners))
}

/// Whether at least one of these numbers belongs to none of the partners.
fn has_unknown_partner(partners: &[TrainingPartner], urns: &[String], ukprns: &[String]) -> bool {
    let has_urn = |urn: &String| {
        let mut known = partners.iter().filter_map(|partner| partner.urn.as_ref());
        known.any(|known| known == urn)
    };
    let has_ukprn = |ukprn: &String| {
        let mut known = partners.iter().filter_map(|partner| partner.ukprn.as_ref());
        known.any(|known| known == ukprn)
    };
    !urns.iter().all(has_urn) || !ukprns.iter().all(has_ukprn)
}

/// Key, URN, name, postcode and whether the school is open.
type SchoolRow = (i64, String, String, Option<String>, bool);
/// Key, URN, UKPRN and name.
type PartnerRow = (i64, Option<String>, Option<String>, String);

/// Converts a row.
fn school((id, urn, name, postcode, open): SchoolRow) -> School {
    School {
        id,
        urn,
        name,
        postcode,
        open,
    }
}

/// Converts a row.
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

/// The text of a cell; `None` when the cell is empty.
fn non_empty(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| !cell.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Register;

    #[test]
    fn sandbox_fills_empty_registers_once() {
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
    fn sandbox_partners_have_urns_of_schools() {
        let register = Register::new();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        let urns: Vec<String> = csv::Reader::from_reader(SANDBOX_PARTNERS.as_bytes())
            .records()
            .filter_map(|line| non_empty(line.unwrap().get(0).unwrap()).map(str::to_owned))
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
