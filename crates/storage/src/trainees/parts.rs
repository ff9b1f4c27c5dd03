//! Placements and degrees of a trainee: adding, changing and removing one.
//!
//! Whatever changes a part of a trainee changes the trainee: its `updated_at` and its revision move with it.

use diesel::prelude::*;
use domain::{Degree, Placement};

use super::{StoredTrainee, nested};
use crate::error::StorageError;
use crate::schema::{degrees, placements, trainees};
use crate::session::ProviderSession;

impl ProviderSession<'_> {
    /// Adds a placement to a trainee.
    ///
    /// # Errors
    ///
    /// [`StorageError::Stale`] when the trainee has changed since it was found; otherwise when the database does not
    /// answer.
    pub fn insert_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        self.touch(trainee)?;
        nested::insert_placement(self.connection, trainee.key, placement)
    }

    /// Changes a placement of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn update_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        self.touch(trainee)?;
        diesel::update(placements::table)
            .filter(placements::trainee_key.eq(trainee.key))
            .filter(placements::placement_id.eq(placement.placement_id.as_deref().unwrap_or_default()))
            .set(nested::PlacementColumns::of(placement))
            .execute(self.connection)?;
        Ok(())
    }

    /// Removes a placement of a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn delete_placement(&mut self, trainee: &StoredTrainee, placement_id: &str) -> Result<(), StorageError> {
        self.touch(trainee)?;
        diesel::delete(placements::table)
            .filter(placements::trainee_key.eq(trainee.key))
            .filter(placements::placement_id.eq(placement_id))
            .execute(self.connection)?;
        Ok(())
    }

    /// Adds a degree to a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn insert_degree(&mut self, trainee: &StoredTrainee, degree: &Degree) -> Result<(), StorageError> {
        self.touch(trainee)?;
        nested::insert_degree(self.connection, trainee.key, degree)
    }

    /// Changes a degree of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn update_degree(&mut self, trainee: &StoredTrainee, degree: &Degree) -> Result<(), StorageError> {
        self.touch(trainee)?;
        diesel::update(degrees::table)
            .filter(degrees::trainee_key.eq(trainee.key))
            .filter(degrees::degree_id.eq(degree.degree_id.as_deref().unwrap_or_default()))
            .set(nested::DegreeColumns::of(degree))
            .execute(self.connection)?;
        Ok(())
    }

    /// Removes a degree of a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn delete_degree(&mut self, trainee: &StoredTrainee, degree_id: &str) -> Result<(), StorageError> {
        self.touch(trainee)?;
        diesel::delete(degrees::table)
            .filter(degrees::trainee_key.eq(trainee.key))
            .filter(degrees::degree_id.eq(degree_id))
            .execute(self.connection)?;
        Ok(())
    }

    /// Marks a trainee as changed now.
    fn touch(&mut self, trainee: &StoredTrainee) -> Result<(), StorageError> {
        let touched = diesel::update(trainees::table)
            .filter(trainees::id.eq(trainee.key))
            .filter(trainees::provider_id.eq(self.provider().id))
            .filter(trainees::revision.eq(trainee.revision))
            .set((trainees::revision.eq(trainee.revision + 1), trainees::updated_at.eq(self.now().naive_utc())))
            .execute(self.connection)?;
        if touched == 1 { Ok(()) } else { Err(StorageError::Stale) }
    }
}
