//! Schools and training partners: the organisations to which trainees and placements refer.
//!
//! Knows nothing of what it means when one is not found; that is for the rules.

use diesel::dsl::exists;
use diesel::prelude::*;
use domain::organisations::{Organisations, School, TrainingPartner};
use postgres_client::RawRows;

use crate::connection::{DatabaseConnection, with_inner};
use crate::error::StorageError;
use crate::recent::{RecentPartners, RecentRows, RecentSchool};
use crate::schema::{schools, training_partners};
use crate::session::{ProviderSession, Session};

pub mod merge;

const SANDBOX_SCHOOLS: &str = include_str!("../sandbox/schools.csv");
const SANDBOX_PARTNERS: &str = include_str!("../sandbox/training_partners.csv");

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
        let schools = schools_by_urn(self.connection, school_urns, self.recent)?;
        let training_partners = partners_by(self.connection, partner_urns, partner_ukprns, self.recent)?;
        // Whether a register is empty matters only where something was not found in it.
        let unknown_school = school_urns.iter().any(|urn| schools.iter().all(|school| school.urn != *urn));
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
        let schools = schools::table.order(schools::id).limit(count).load::<SchoolRow>(self.connection)?;
        let partners =
            training_partners::table.order(training_partners::id).limit(count).load::<PartnerRow>(self.connection)?;
        Ok(Organisations {
            no_schools_loaded: schools.is_empty(),
            no_training_partners_loaded: partners.is_empty(),
            schools: schools.into_iter().map(school).collect(),
            training_partners: partners.into_iter().map(partner).collect(),
        })
    }

    /// Whether the register of schools, and whether that of training partners, is empty. While one is, every
    /// well-formed number counts as known.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn registers_empty(&mut self) -> Result<(bool, bool), StorageError> {
        Ok((has_no_schools(self.connection)?, has_no_partners(self.connection)?))
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

/// The schools with these URNs, in no particular order; those that are not known are left out.
fn schools_by_urn(
    connection: &mut DatabaseConnection,
    urns: &[String],
    recent: Option<&RecentRows>,
) -> Result<Vec<School>, StorageError> {
    let inner = match connection {
        DatabaseConnection::Postgres(_) if urns.is_empty() => return Ok(Vec::new()),
        DatabaseConnection::Postgres(inner) => inner,
        // One statement that stays prepared, in place of one for each number of URNs that does not.
        DatabaseConnection::Sqlite(inner) => {
            let found = urns.iter().map(|urn| schools::table.filter(schools::urn.eq(urn)).get_result(inner).optional());
            return found.filter_map(Result::transpose).map(|found| Ok(school(found?))).collect();
        }
    };
    let query = schools::table.filter(schools::urn.eq_any(urns)).order(schools::id);
    let recent = recent.map(|recent| &recent.schools);
    if inner.allows_assumptions()
        && let Some(recent) = recent
        && let Some(mut known) = urns.iter().map(|urn| recent.find(urn)).collect::<Option<Vec<_>>>()
    {
        known.sort_unstable_by_key(|one| one.school.id);
        known.dedup_by_key(|one| one.school.id);
        inner.assume(&query, RawRows::concat(known.iter().map(|one| &one.row)))?;
        return Ok(known.into_iter().map(|one| one.school).collect());
    }
    inner.capture_next();
    let found: Vec<_> = query.load::<SchoolRow>(inner)?.into_iter().map(school).collect();
    if let (Some(recent), Some(rows)) = (recent, inner.captured()) {
        urns.iter().for_each(|urn| recent.forget(urn));
        for (school, row) in found.iter().zip(rows.each()) {
            recent.remember(school.urn.clone(), RecentSchool { school: school.clone(), row });
        }
    }
    Ok(found)
}

/// The training partners that have one of these URNs or one of these UKPRNs, by key. Several may share a UKPRN.
fn partners_by(
    connection: &mut DatabaseConnection,
    urns: &[String],
    ukprns: &[String],
    recent: Option<&RecentRows>,
) -> Result<Vec<TrainingPartner>, StorageError> {
    let inner = match connection {
        DatabaseConnection::Postgres(_) if urns.is_empty() && ukprns.is_empty() => return Ok(Vec::new()),
        DatabaseConnection::Postgres(inner) => inner,
        // As for schools.
        DatabaseConnection::Sqlite(inner) => {
            let mut rows: Vec<PartnerRow> = Vec::new();
            for urn in urns {
                rows.extend(training_partners::table.filter(training_partners::urn.eq(urn)).load(inner)?);
            }
            for ukprn in ukprns {
                rows.extend(training_partners::table.filter(training_partners::ukprn.eq(ukprn)).load(inner)?);
            }
            rows.sort_unstable_by_key(|(id, ..)| *id);
            rows.dedup_by_key(|(id, ..)| *id);
            return Ok(rows.into_iter().map(partner).collect());
        }
    };
    let query = training_partners::table
        .filter(training_partners::urn.eq_any(urns).or(training_partners::ukprn.eq_any(ukprns)))
        .order(training_partners::id);
    let (recent, numbers) = (recent.map(|recent| &recent.partners), (urns.to_vec(), ukprns.to_vec()));
    if inner.allows_assumptions()
        && let Some(RecentPartners { partners, rows }) = recent.and_then(|recent| recent.find(&numbers))
    {
        inner.assume(&query, rows)?;
        return Ok(partners);
    }
    inner.capture_next();
    let partners: Vec<_> = query.load::<PartnerRow>(inner)?.into_iter().map(partner).collect();
    // What no partner has is as long as a client likes, and is not kept.
    let are_known = !partners_unknown(&partners, urns, ukprns);
    match (recent, inner.captured()) {
        (Some(recent), Some(rows)) if are_known => {
            recent.remember(numbers, RecentPartners { partners: partners.clone(), rows });
        }
        (Some(recent), _) => recent.forget(&numbers),
        (None, _) => {}
    }
    Ok(partners)
}

/// Whether no partner has one of these numbers.
fn partners_unknown(partners: &[TrainingPartner], urns: &[String], ukprns: &[String]) -> bool {
    let has = |number: fn(&TrainingPartner) -> Option<&str>, sought: &str| {
        partners.iter().any(|partner| number(partner) == Some(sought))
    };
    urns.iter().any(|urn| !has(|partner| partner.urn.as_deref(), urn))
        || ukprns.iter().any(|ukprn| !has(|partner| partner.ukprn.as_deref(), ukprn))
}

type SchoolRow = (i64, String, String, Option<String>, bool);
type PartnerRow = (i64, Option<String>, Option<String>, String);

fn school((id, urn, name, postcode, open): SchoolRow) -> School {
    School { id, urn, name, postcode, open }
}

fn partner((id, urn, ukprn, name): PartnerRow) -> TrainingPartner {
    TrainingPartner { id, urn, ukprn, name }
}

fn has_no_schools(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let any = diesel::select(exists(schools::table.select(schools::id)));
    Ok(!with_inner!(connection, |inner| any.get_result::<bool>(inner))?)
}

fn has_no_partners(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let any = diesel::select(exists(training_partners::table.select(training_partners::id)));
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
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (true, true));
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (false, false));
    }

    #[test]
    fn schools_are_found_by_urn() {
        let register = Register::new();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        let urns = ["990001", "990017", "123456"].map(str::to_owned);
        let mut found = register.read(|session| schools_by_urn(session.connection, &urns, None)).unwrap();
        found.sort_by(|one, other| one.urn.cmp(&other.urn));
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.urn.as_str(), first.postcode.as_deref(), first.open), ("990001", Some("ZZ1 1AA"), true));
        assert_eq!((second.urn.as_str(), second.postcode.as_deref()), ("990017", None));
        assert!(register.read(|session| schools_by_urn(session.connection, &[], None)).unwrap().is_empty());
    }

    #[test]
    fn partners_are_found_by_urn_or_ukprn() {
        let register = Register::new();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        let (urns, ukprns) = (["990004".to_owned()], ["10090101", "99999999"].map(str::to_owned));
        let found = register.read(|session| partners_by(session.connection, &urns, &ukprns, None)).unwrap();
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
        assert_eq!(register.read(|session| schools_by_urn(session.connection, &urns, None)).unwrap().len(), 20);
    }
}
