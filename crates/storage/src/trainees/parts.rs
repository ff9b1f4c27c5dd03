//! Placements and degrees of a trainee: adding, changing and removing one.
//!
//! Whatever changes a part of a trainee changes the trainee: its `updated_at` and its revision move with it.

use diesel::prelude::*;
use domain::{Degree, Placement, Record, Trainee};

use super::{StoredTrainee, nested};
use crate::error::StorageError;
use crate::history::Changed;
use crate::schema::{degrees, placements, trainees};
use crate::session::ProviderSession;

impl ProviderSession<'_> {
    /// Adds a placement to a trainee.
    ///
    /// # Errors
    ///
    /// [`StorageError::Stale`] when the trainee has changed since it was found; [`StorageError::DateNotDue`]; otherwise
    /// when the database does not answer.
    pub fn insert_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        self.touch(trainee, Part::Placement(&Placement::default(), placement))?;
        nested::insert_placement(self.connection, trainee.key, placement)
    }

    /// Changes a placement of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn update_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        let before = of_id(&trainee.record.placements, |known| known.placement_id == placement.placement_id);
        self.touch(trainee, Part::Placement(&before, placement))?;
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
        let before = of_id(&trainee.record.placements, |known| known.placement_id.as_deref() == Some(placement_id));
        self.touch(trainee, Part::Placement(&before, &Placement::default()))?;
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
        self.touch(trainee, Part::Degree(&Degree::default(), degree))?;
        nested::insert_degree(self.connection, trainee.key, degree)
    }

    /// Changes a degree of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::insert_placement`].
    pub fn update_degree(&mut self, trainee: &StoredTrainee, degree: &Degree) -> Result<(), StorageError> {
        let before = of_id(&trainee.record.degrees, |known| known.degree_id == degree.degree_id);
        self.touch(trainee, Part::Degree(&before, degree))?;
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
        let before = of_id(&trainee.record.degrees, |known| known.degree_id.as_deref() == Some(degree_id));
        self.touch(trainee, Part::Degree(&before, &Degree::default()))?;
        diesel::delete(degrees::table)
            .filter(degrees::trainee_key.eq(trainee.key))
            .filter(degrees::degree_id.eq(degree_id))
            .execute(self.connection)?;
        Ok(())
    }

    /// Marks a trainee as changed now, and writes down what changes in it.
    fn touch(&mut self, trainee: &StoredTrainee, part: Part<'_>) -> Result<(), StorageError> {
        self.take_date(Some(self.now()))?;
        let touched = diesel::update(trainees::table)
            .filter(trainees::id.eq(trainee.key))
            .filter(trainees::provider_id.eq(self.provider().id))
            .filter(trainees::revision.eq(trainee.revision))
            .set((trainees::revision.eq(trainee.revision + 1), trainees::updated_at.eq(self.now().naive_utc())))
            .execute(self.connection)?;
        if touched != 1 {
            return Err(StorageError::Stale);
        }
        let before = Trainee { updated_at: trainee.record.updated_at, ..Trainee::default() };
        let after = Trainee { updated_at: Some(self.now()), ..Trainee::default() };
        let changed = Changed::default().trainee(&before, &after);
        let changed = match part {
            Part::Placement(before, after) => changed.placement(before, after),
            Part::Degree(before, after) => changed.degree(before, after),
        };
        self.remember(trainee.key, &changed)
    }
}

/// A part of a trainee before and after a change; one that is not there is an empty one.
enum Part<'a> {
    Placement(&'a Placement, &'a Placement),
    Degree(&'a Degree, &'a Degree),
}

/// The part that is looked for, or an empty one.
fn of_id<R: Record>(parts: &[R], is_it: impl Fn(&R) -> bool) -> R {
    parts.iter().find(|part| is_it(part)).cloned().unwrap_or_default()
}
