//! Placements and degrees of a trainee: adding, changing and removing one.
//!
//! They are parts of the trainee's record, so each of these is a change of the trainee.

use domain::{Degree, Placement, Trainee};

use super::StoredTrainee;
use crate::error::StorageError;
use crate::session::ProviderSession;

impl ProviderSession<'_> {
    /// Adds a placement to a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn insert_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| record.placements.push(placement.clone()))
    }

    /// Changes a placement of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn update_placement(&mut self, trainee: &StoredTrainee, placement: &Placement) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| {
            let known = record.placements.iter_mut().find(|known| known.placement_id == placement.placement_id);
            known.into_iter().for_each(|known| known.clone_from(placement));
        })
    }

    /// Removes a placement of a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn delete_placement(&mut self, trainee: &StoredTrainee, placement_id: &str) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| {
            record.placements.retain(|known| known.placement_id.as_deref() != Some(placement_id));
        })
    }

    /// Adds a degree to a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn insert_degree(&mut self, trainee: &StoredTrainee, degree: &Degree) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| record.degrees.push(degree.clone()))
    }

    /// Changes a degree of a trainee, which its identifier names.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn update_degree(&mut self, trainee: &StoredTrainee, degree: &Degree) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| {
            let known = record.degrees.iter_mut().find(|known| known.degree_id == degree.degree_id);
            known.into_iter().for_each(|known| known.clone_from(degree));
        })
    }

    /// Removes a degree of a trainee.
    ///
    /// # Errors
    ///
    /// As [`ProviderSession::update_trainee`].
    pub fn delete_degree(&mut self, trainee: &StoredTrainee, degree_id: &str) -> Result<(), StorageError> {
        self.change_parts(trainee, |record| {
            record.degrees.retain(|known| known.degree_id.as_deref() != Some(degree_id));
        })
    }

    /// Changes the nested records of a trainee, which is then changed now.
    fn change_parts(&mut self, trainee: &StoredTrainee, change: impl FnOnce(&mut Trainee)) -> Result<(), StorageError> {
        let mut changed = trainee.record.clone();
        change(&mut changed);
        changed.updated_at = Some(self.now());
        self.update_trainee(trainee, &changed)
    }
}
