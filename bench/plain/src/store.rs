//! What the service needs of a database. `queries.rs` implements it for both.

use crate::records::{FullTrainee, Time, Trainee};
use crate::registration::Organisations;

/// A database with its pools of connections. A token is known by its digest. What reads for a token
/// checks it in the same statement: without a valid token there is nothing to read.
pub(crate) trait Store: Clone + Send + Sync + 'static {
    /// Returns the UKPRN of a token's provider, or `None` if there is no such token.
    fn provider(&self, token: &[u8]) -> impl Future<Output = sqlx::Result<Option<String>>> + Send;

    fn trainee(
        &self,
        token: &[u8],
        trainee_id: &str,
    ) -> impl Future<Output = sqlx::Result<Option<FullTrainee>>> + Send;

    /// Returns the trainees of a page, and the number of trainees on all pages. The number is 0 if
    /// the page is empty.
    fn page(
        &self,
        token: &[u8],
        list: &List,
    ) -> impl Future<Output = sqlx::Result<(Vec<Trainee>, i64)>> + Send;

    /// Returns the organisations with these numbers, if they exist.
    fn organisations(
        &self,
        schools: &[&str],
        partner: Option<&str>,
    ) -> impl Future<Output = sqlx::Result<Organisations>> + Send;

    /// Stores a new trainee, or returns the duplicates that are stored already.
    fn register(
        &self,
        new: &FullTrainee,
    ) -> impl Future<Output = sqlx::Result<Vec<FullTrainee>>> + Send;

    /// Creates the tables.
    fn create(&self) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Stores tokens, as digest and UKPRN, and trainees with their organisations, in one
    /// transaction.
    fn fill(
        &self,
        tokens: Vec<(Vec<u8>, String)>,
        trainees: Vec<FullTrainee>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) academic_cycle: i64,
    pub(crate) status: Option<Status>,
    pub(crate) has_trn: Option<bool>,
    pub(crate) since: Option<Time>,
    pub(crate) is_ascending: bool,
    pub(crate) offset: i64,
    pub(crate) limit: i64,
}

/// The values of the filter `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    CourseNotYetStarted,
    InTraining,
    Deferred,
    Awarded,
    Withdrawn,
}
