//! Schools and training partners: the organisations to which trainees and placements refer.
//!
//! Knows nothing of what it means when one is not found; that is for the rules.

use diesel::dsl::exists;
use diesel::prelude::*;
use domain::organisations::{Organisations, School, TrainingPartner};
use postgres_client::RawRows;

use crate::connection::{DatabaseConnection, with_inner};
use crate::error::StorageError;
use crate::recent::RecentRows;
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
        known.sort_unstable_by_key(|(school, _)| school.id);
        known.dedup_by_key(|(school, _)| school.id);
        inner.assume(&query, RawRows::concat(known.iter().map(|(_, row)| row)))?;
        return Ok(known.into_iter().map(|(school, _)| school).collect());
    }
    inner.capture_next();
    let found: Vec<_> = query.load::<SchoolRow>(inner)?.into_iter().map(school).collect();
    if let (Some(recent), Some(rows)) = (recent, inner.captured()) {
        urns.iter().for_each(|urn| recent.forget(urn));
        for (school, row) in found.iter().zip(rows.each()) {
            recent.remember(school.urn.clone(), school.clone(), row);
        }
    }
    Ok(found)
}

/// The training partners that have one of these URNs or one of these UKPRNs, by key. After an earlier import several may share a
/// UKPRN.
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
        && let Some((partners, rows)) = recent.and_then(|recent| recent.find(&numbers))
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
            recent.remember(numbers, partners.clone(), rows);
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
    use crate::history::Cause;
    use crate::testing::{Register, UKPRN};

    #[test]
    fn the_sandbox_fills_empty_registers_once() {
        let register = Register::new();
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (true, true));
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        assert_eq!(register.read(|session| session.registers_empty()).unwrap(), (false, false));
        assert_eq!(register.read(|session| session.inspect()).unwrap().organisations, [""; 0]);
    }

    /// The names of the schools with these URNs, and of the partners with these UKPRNs, as a job of a provider finds them.
    fn names(register: &Register, urns: &[&str], ukprns: &[&str]) -> Vec<String> {
        let of = |texts: &[&str]| texts.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        let (urns, ukprns) = (of(urns), of(ukprns));
        let found = register.write(move |session| {
            session.open_provider(UKPRN, Cause::of("test"))?.unwrap().organisations(&urns, &[], &ukprns)
        });
        let Organisations { schools, training_partners, .. } = found.unwrap();
        schools
            .into_iter()
            .map(|school| school.name)
            .chain(training_partners.into_iter().map(|partner| partner.name))
            .collect()
    }

    #[test]
    fn what_has_changed_since_it_was_read_lately_is_read_again() {
        let register = Register::with_provider();
        register.write(|session| session.ensure_sandbox_organisations()).unwrap();
        // The other way round than they are stored.
        let read = || names(&register, &["990017", "990001"], &["10090101"]);
        let before = read();
        assert_eq!(before.len(), 3, "{before:?}");
        assert_eq!(read(), before);
        let mut connection = register.second_connection();
        diesel::update(schools::table.filter(schools::urn.eq("990001")))
            .set(schools::name.eq("Another school"))
            .execute(&mut connection)
            .unwrap();
        diesel::update(training_partners::table.filter(training_partners::ukprn.eq("10090101")))
            .set(training_partners::name.eq("Another partner"))
            .execute(&mut connection)
            .unwrap();
        for _ in 0..2 {
            let after = read();
            assert!(after.contains(&"Another school".to_owned()) && after.contains(&"Another partner".to_owned()));
            assert_eq!(after.len(), before.len());
        }
        diesel::delete(schools::table.filter(schools::urn.eq("990001"))).execute(&mut connection).unwrap();
        diesel::delete(training_partners::table.filter(training_partners::ukprn.eq("10090101")))
            .execute(&mut connection)
            .unwrap();
        for _ in 0..2 {
            assert_eq!(read().len(), before.len() - 2);
        }
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
