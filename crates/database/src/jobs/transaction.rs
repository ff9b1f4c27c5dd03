//! The transaction of a job.

use std::any::Any;

use crate::clock::JobTime;
use crate::connection::{Access, DatabaseConnection};
use crate::positions::LockedProviders;

/// The transaction of one job: its connection, its time, and what the job may do.
pub struct Transaction<'a> {
    /// The connection of the transaction.
    pub connection: &'a mut DatabaseConnection,
    /// What the job may do.
    pub access: Access,
    /// The time of the job, and the dates of its changes.
    pub time: JobTime,
    /// The providers whose records the job may change; `None` for a job that only reads.
    pub locked: Option<&'a mut LockedProviders>,
    /// Values kept beside the connection. Present only on the SQLite connections for look-ups.
    pub memory: Option<&'a mut ConnectionMemory>,
}

impl<'a> Transaction<'a> {
    /// The transaction that is open on the connection.
    pub fn new(connection: &'a mut DatabaseConnection, access: Access, time: JobTime) -> Self {
        Self {
            connection,
            access,
            time,
            locked: None,
            memory: None,
        }
    }

    /// Adds the providers whose records the job may change.
    #[must_use]
    pub fn with_locked(self, locked: &'a mut LockedProviders) -> Self {
        Self {
            locked: Some(locked),
            ..self
        }
    }

    /// Adds the values that jobs keep beside the connection.
    pub(crate) fn with_memory(self, memory: &'a mut ConnectionMemory) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }
}

/// A value that jobs keep beside a connection.
#[derive(Default)]
pub struct ConnectionMemory(Option<Box<dyn Any + Send>>);

impl ConnectionMemory {
    /// The value of this type. If there is none, a default value replaces the present one.
    pub fn get<T: Default + Send + 'static>(&mut self) -> Option<&mut T> {
        if !self.0.as_ref().is_some_and(|value| value.is::<T>()) {
            self.0 = Some(Box::<T>::default());
        }
        self.0.as_mut()?.downcast_mut()
    }
}
