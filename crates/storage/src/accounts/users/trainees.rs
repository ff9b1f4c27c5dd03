//! Actions on trainees in the activity log: registry actions and viewing a history by operators, and
//! viewing a trainee by users of its organisation.
//!
//! Entries contain the identifiers of trainees and no other data of them.

use database::connection::with_inner;
use diesel::prelude::*;

use super::organisations::require_operator;
use super::{ActivityKind, Actor, Origin, Subject};
use crate::accounts::uploads::Uploader;
use crate::error::StorageError;
use crate::records::history::TraineeHistory;
use crate::records::trainees::visible;
use crate::schema::trainees;
use crate::session::Session;

impl Session<'_> {
    /// Logs a registry action of an operator on a trainee. Call this in the transaction of the
    /// action.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotPermitted`](crate::error::Refusal::NotPermitted) for a user of an organisation.
    pub fn record_registry_action(
        &mut self,
        by: Actor<'_>,
        trainee_id: &str,
        operation: &str,
    ) -> Result<(), StorageError> {
        self.record_trainee(by, trainee_id, ActivityKind::RegistryActed, operation)
    }

    /// The history of a trainee of any provider, with up to `most` latest entries. Logs that an
    /// operator viewed it. `None`, and no log entry, for an unknown trainee.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotPermitted`](crate::error::Refusal::NotPermitted) for a user of an
    /// organisation; [`StorageError::CorruptRow`] if an entry contains an invalid value.
    pub fn view_history(
        &mut self,
        by: Actor<'_>,
        trainee_id: &str,
        most: i64,
    ) -> Result<Option<TraineeHistory>, StorageError> {
        require_operator(by)?;
        let Some(history) = self.latest_history_of(trainee_id, most)? else {
            return Ok(None);
        };
        self.record_trainee(by, trainee_id, ActivityKind::HistoryViewed, "")?;
        Ok(Some(history))
    }

    /// A trainee of the user's organisation, with up to `most` latest entries of its history. Logs
    /// that the user viewed it. `None`, and no log entry, if the organisation has no such trainee.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptRow`] if an entry contains an invalid value.
    pub fn view_trainee(
        &mut self,
        by: Uploader,
        origin: Origin<'_>,
        trainee_id: &str,
        most: i64,
    ) -> Result<Option<TraineeHistory>, StorageError> {
        let provider_id = by.provider_id();
        let own = trainees::table
            .filter(trainees::trainee_id.eq(trainee_id))
            .filter(visible(provider_id));
        let is_own = diesel::select(diesel::dsl::exists(own));
        if !is_own.get_result::<bool>(self.connection)? {
            return Ok(None);
        }
        let viewed = self.latest_history_of(trainee_id, most)?;
        self.record_activity(
            Actor::user(by.user_id(), Some(provider_id), origin),
            Some(provider_id),
            ActivityKind::TraineeViewed,
            Subject::Trainee(trainee_id),
            "",
        )?;
        Ok(viewed)
    }

    /// Logs an action of an operator on a trainee. Fails for a user of an organisation.
    fn record_trainee(
        &mut self,
        by: Actor<'_>,
        trainee_id: &str,
        kind: ActivityKind,
        detail: &str,
    ) -> Result<(), StorageError> {
        require_operator(by)?;
        let owner = trainees::table
            .filter(trainees::trainee_id.eq(trainee_id))
            .select(trainees::provider_id);
        let owner =
            with_inner!(self.connection, |inner| owner.get_result::<i64>(inner)).optional()?;
        self.record_activity(by, owner, kind, Subject::Trainee(trainee_id), detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::users::{ActivityFilter, Origin};
    use crate::error::Refusal;
    use crate::records::history::Entry;
    use crate::testing::{Register, UKPRN};

    #[test]
    fn view_history_reads_latest_entries_only() {
        let register = Register::with_provider();
        register.add_trainee("trainee");
        for name in ["Ash", "Beech", "Cedar"] {
            register.update("trainee", move |trainee| {
                trainee.last_name = Some(name.to_owned());
            });
        }
        let seen = |most| {
            let view = move |session: &mut Session<'_>| {
                session.view_history(Actor::operator("o"), "trainee", most)
            };
            let history = register.write(view).unwrap().unwrap();
            let name = |entry: &Entry| entry.fields[0].after().to_string();
            (
                history.entries.iter().map(name).collect::<Vec<_>>(),
                history.left_out,
            )
        };
        assert_eq!(
            seen(2),
            (vec!["\"Beech\"".to_owned(), "\"Cedar\"".to_owned()], 2)
        );
        let (all, left_out) = seen(4);
        assert_eq!((all.len(), left_out), (4, 0));
        assert_eq!(all, seen(200).0);
    }

    #[test]
    fn organisation_user_performs_no_operator_actions() {
        let register = Register::with_provider();
        let user = Actor::user(1, Some(1), Origin::default());
        let refused = [
            register
                .write(move |session| session.view_history(user, "unknown", 10).map(drop))
                .unwrap_err(),
            register
                .write(move |session| {
                    session.record_registry_action(user, "unknown", "registry award")
                })
                .unwrap_err(),
        ];
        for error in refused {
            assert!(
                matches!(error, StorageError::Refused(Refusal::NotPermitted)),
                "{error:?}"
            );
        }
        let unknown = register
            .write(|session| session.view_history(Actor::operator("operator"), "unknown", 10))
            .unwrap();
        assert_eq!(unknown, None);
        let filter = ActivityFilter {
            provider_ukprn: Some(UKPRN),
            limit: 10,
            ..ActivityFilter::default()
        };
        assert!(
            register
                .read(move |session| session.list_activity(filter))
                .unwrap()
                .is_empty()
        );
    }
}
