//! Checks the invariants of the database.

use std::collections::{BTreeMap, HashMap};

use database::catalog::{self, Orphan};
use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::dsl::max;
use diesel::prelude::*;
use domain::records::organisations::is_reserved_urn;

use crate::error::StorageError;
use crate::maintenance::copy::tables;
use crate::schema::{provider_positions, providers, schools, trainees, training_partners};
use crate::session::Session;

/// The result of a check of the database.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Errors that SQLite finds in its file. Empty on PostgreSQL, which has its own tools.
    pub damage: Vec<String>,
    /// References to missing rows.
    pub orphans: Vec<Orphan>,
    /// Providers without a position, or with a position before that of one of their trainees.
    pub positions: Vec<String>,
    /// Schools and training partners with an invalid URN or a shared UKPRN.
    pub organisations: Vec<String>,
    /// The number of rows of each table.
    pub counts: Vec<(&'static str, i64)>,
}

impl Session<'_> {
    /// Checks all tables.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn inspect(&mut self) -> Result<Inspection, StorageError> {
        // Sequential scans are allowed here, because whole tables are read.
        if let DatabaseConnection::Postgres(inner) = &mut *self.connection {
            inner.batch_execute("SET LOCAL enable_seqscan = on")?;
        }
        let mut found = Inspection {
            damage: catalog::damage(self.connection)?,
            ..Inspection::default()
        };
        for reference in catalog::references(self.connection)? {
            found
                .orphans
                .extend(catalog::orphans(self.connection, &reference)?);
        }
        found.positions = problems_of_positions(self.connection)?;
        found.organisations = problems_of_organisations(self.connection)?;
        for table in tables::copied() {
            found
                .counts
                .push((table, catalog::count(self.connection, table)?));
        }
        Ok(found)
    }
}

/// A message for each provider whose next change would take a position that a trainee has.
fn problems_of_positions(connection: &mut DatabaseConnection) -> Result<Vec<String>, StorageError> {
    let last = trainees::table.group_by(trainees::provider_id);
    let last: HashMap<i64, Option<i64>> = last
        .select((trainees::provider_id, max(trainees::position)))
        .load::<(i64, Option<i64>)>(connection)?
        .into_iter()
        .collect();
    let positions: HashMap<i64, i64> = provider_positions::table
        .select((
            provider_positions::provider_id,
            provider_positions::position,
        ))
        .load::<(i64, i64)>(connection)?
        .into_iter()
        .collect();
    let providers: Vec<(i64, String)> = providers::table
        .order(providers::ukprn)
        .select((providers::id, providers::ukprn))
        .load(connection)?;
    let problems = providers.into_iter().filter_map(|(id, ukprn)| {
        let last = last.get(&id).copied().flatten().unwrap_or_default();
        match positions.get(&id) {
            None => Some(format!("provider {ukprn}: no position")),
            Some(position) if *position < last => {
                Some(format!("provider {ukprn}: position is before a trainee's"))
            }
            Some(_) => None,
        }
    });
    Ok(problems.collect())
}

/// A message for each reserved URN and each shared UKPRN. They come from earlier imports; new
/// imports reject them.
fn problems_of_organisations(
    connection: &mut DatabaseConnection,
) -> Result<Vec<String>, StorageError> {
    let schools: Vec<String> = schools::table
        .select(schools::urn)
        .order(schools::urn)
        .load(connection)?;
    let partners: Vec<(Option<String>, Option<String>)> = training_partners::table
        .select((training_partners::urn, training_partners::ukprn))
        .order(training_partners::urn)
        .load(connection)?;
    let reserved = |table: &str, urn: &str| format!("{table}: URN {urn} is reserved");
    let is_reserved = |urn: &&str| is_reserved_urn(urn);
    let mut problems: Vec<String> = schools
        .iter()
        .map(String::as_str)
        .filter(is_reserved)
        .map(|urn| reserved("schools", urn))
        .collect();
    let urns = partners.iter().filter_map(|(urn, _)| urn.as_deref());
    problems.extend(
        urns.filter(is_reserved)
            .map(|urn| reserved("training_partners", urn)),
    );
    let mut ukprns: BTreeMap<&str, usize> = BTreeMap::new();
    for ukprn in partners.iter().filter_map(|(_, ukprn)| ukprn.as_deref()) {
        *ukprns.entry(ukprn).or_default() += 1;
    }
    let shared = ukprns.into_iter().filter(|(_, count)| *count > 1);
    problems.extend(
        shared.map(|(ukprn, count)| format!("training_partners: {count} have the UKPRN {ukprn}")),
    );
    Ok(problems)
}
