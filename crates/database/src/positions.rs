//! The providers whose records a transaction may change, and the positions of their last changes.
//!
//! All changes of one provider's records happen one after the other. A transaction locks the
//! provider before it reads what a change depends on. Each changed record takes the next position,
//! and a date that is not earlier than the last one. The transaction stores the last position and
//! date once, before its commit.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::clock::{Clock, JobTime};
use crate::connection::DatabaseConnection;
use crate::error::DatabaseError;

/// The last change of the records of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange {
    /// The position of the change; 0 before the first change.
    pub position: i64,
    /// The date of the change; `None` before the first change.
    pub date: Option<DateTime<Utc>>,
}

/// The last change of a provider that was locked, and the clock of the database; `None` to use the
/// clock of the program.
pub type LockedAt = (LastChange, Option<DateTime<Utc>>);

/// Reads and writes the last changes of providers. Providers are identified by their keys.
#[derive(Debug, Clone, Copy)]
pub struct PositionTable {
    /// Locks a provider until the transaction ends.
    pub lock: fn(&mut DatabaseConnection, i64) -> Result<LockedAt, DatabaseError>,
    /// Stores the last change of a locked provider.
    pub store: fn(&mut DatabaseConnection, i64, LastChange) -> Result<(), DatabaseError>,
}

/// The providers that a transaction has locked.
#[derive(Debug, Clone)]
pub struct LockedProviders {
    table: PositionTable,
    clock: Clock,
    /// How far the clock of the database is ahead of `clock`.
    offset: TimeDelta,
    locked: BTreeMap<i64, LockedProvider>,
}

#[derive(Debug, Clone, Copy)]
struct LockedProvider {
    last: LastChange,
    has_changed: bool,
}

impl LockedProviders {
    /// No provider, in a new transaction.
    pub fn new(table: PositionTable, clock: Clock) -> Self {
        Self {
            table,
            clock,
            offset: TimeDelta::zero(),
            locked: BTreeMap::new(),
        }
    }

    /// Locks a provider until the transaction ends. Returns `false` if the transaction has locked it
    /// before. On PostgreSQL a transaction locks at most one provider, so that two transactions
    /// never wait for each other.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`] when another transaction holds the lock for too long.
    /// [`DatabaseError::SecondProvider`], which is a defect of the job.
    pub fn lock(
        &mut self,
        connection: &mut DatabaseConnection,
        provider: i64,
    ) -> Result<bool, DatabaseError> {
        if self.locked.contains_key(&provider) {
            return Ok(false);
        }
        if connection.is_remote() && !self.locked.is_empty() {
            return Err(DatabaseError::SecondProvider);
        }
        let (last, now) = (self.table.lock)(connection, provider)?;
        self.offset = self.clock.offset_of(now);
        let has_changed = false;
        let locked = LockedProvider { last, has_changed };
        self.locked.insert(provider, locked);
        Ok(true)
    }

    /// The time of a job that begins now and changes records of `provider`, if it is locked.
    pub fn job_time(&self, provider: Option<i64>) -> JobTime {
        let mut time = JobTime::new(self.clock.now() + self.offset);
        if let Some(provider) = provider {
            self.follow_last_change(provider, &mut time);
        }
        time
    }

    /// Makes the next change of a job not earlier than the last change of `provider`.
    pub fn follow_last_change(&self, provider: i64, time: &mut JobTime) {
        let locked = self.locked.get(&provider);
        if let Some(date) = locked.and_then(|locked| locked.last.date) {
            time.follow(date);
        }
    }

    /// Takes the next position of a provider, for a change with this date.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::ProviderNotLocked`], which is a defect of the job.
    pub fn take_position(
        &mut self,
        provider: i64,
        date: DateTime<Utc>,
    ) -> Result<i64, DatabaseError> {
        let locked = self
            .locked
            .get_mut(&provider)
            .ok_or(DatabaseError::ProviderNotLocked)?;
        locked.last = LastChange {
            position: locked.last.position + 1,
            date: Some(date),
        };
        locked.has_changed = true;
        Ok(locked.last.position)
    }

    /// Stores the last changes of this transaction.
    pub(crate) fn store(&self, connection: &mut DatabaseConnection) -> Result<(), DatabaseError> {
        for (provider, locked) in &self.locked {
            if locked.has_changed {
                (self.table.store)(connection, *provider, locked.last)?;
            }
        }
        Ok(())
    }
}
