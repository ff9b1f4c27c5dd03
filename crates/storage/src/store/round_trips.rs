//! Tests of the number of round trips to PostgreSQL that each kind of job takes with prepared
//! statements.

use chrono::{DateTime, TimeDelta, Utc};
use database::connection::{Access, DatabaseConnection};
use diesel::prelude::*;
use domain::listing::{Listing, Order};
use domain::{Placement, State, Trainee};
use test_support::Kind;

use super::*;
use crate::accounts::users::Actor;
use crate::base::cause::Cause;
use crate::base::token::TokenDigest;
use crate::observations::totals::{RequestTotal, Seen, TotalKind};
use crate::records::idempotency::{KeyState, StoredReply};
use crate::records::trainees::{ChangeQuery, ListTotals};
use crate::schema::trainees;
use crate::testing::{NEW_TOKEN, Register};

type Answer = Result<(), StorageError>;

/// A register on PostgreSQL with one token. Today's use of the token is already recorded.
struct Measured {
    register: Register,
    digest: TokenDigest,
}

impl Measured {
    fn new() -> Option<Self> {
        if Kind::from_environment() != Kind::Postgres {
            return None;
        }
        let register = Register::with_provider();
        register
            .write(|session| session.ensure_sandbox_organisations())
            .unwrap();
        let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
        let digest = TokenDigest::from_text(token.reveal());
        let measured = Self {
            register,
            digest: digest.clone(),
        };
        let recorded = measured.register.write(move |session| {
            session
                .authenticate(&digest, Cause::new("test"))?
                .unwrap()
                .record_token_use()
        });
        recorded.unwrap();
        Some(measured)
    }

    /// Registers the trainee with the number 0.
    fn register_trainee(&self) {
        let digest = self.digest.clone();
        let urn = first_school(self);
        self.register
            .write(move |session| register_at(session, &digest, 0, None, &urn))
            .unwrap();
    }

    /// The number of round trips of the third run of a job.
    fn round_trips(
        &self,
        access: Access,
        mut job: impl FnMut(&mut Session<'_>, usize) -> Answer,
    ) -> u64 {
        let store = &self.register.store;
        let connections = match access {
            Access::Write => store.database.connections().for_writing(),
            Access::LookUp | Access::Read => store.database.connections().clone(),
        };
        let mut connection = connections.establish_for_pool().unwrap();
        let mut before = 0;
        for run in 0..3 {
            before = round_trips_of_connection(&connection);
            store
                .run_on(&mut connection, access, |session| job(session, run))
                .unwrap();
        }
        round_trips_of_connection(&connection) - before
    }
}

fn round_trips_of_connection(connection: &DatabaseConnection) -> u64 {
    match connection {
        DatabaseConnection::Postgres(inner) => inner.round_trips(),
        DatabaseConnection::Sqlite(_) => panic!("another database was opened"),
    }
}

/// A trainee with a placement at the school.
fn trainee(number: usize, school_id: i64, now: DateTime<Utc>) -> Trainee {
    Trainee {
        trainee_id: Some(format!("trainee {number}")),
        state: Some(State::SubmittedForTrn),
        last_name: Some(format!("Ash {number}")),
        created_at: Some(now),
        updated_at: Some(now),
        placements: vec![Placement {
            placement_id: Some(format!("placement {number}")),
            school_id: Some(school_id),
            created_at: Some(now),
            updated_at: Some(now),
            ..Placement::default()
        }],
        ..Trainee::default()
    }
}

/// Registers a trainee like a request does: loads the school by its URN, and stores the reply if
/// the request has an idempotency key.
fn register_at(
    session: &mut Session<'_>,
    digest: &TokenDigest,
    number: usize,
    key: Option<&str>,
    urn: &str,
) -> Answer {
    let mut provider = session.authenticate(digest, Cause::new("test"))?.unwrap();
    provider.record_token_use()?;
    if let Some(key) = key {
        assert_eq!(provider.earlier_reply(key, "digest")?, KeyState::Unused);
    }
    let found = provider.organisations(&[urn.to_owned()], &[], &[])?;
    let trainee = trainee(number, found.schools[0].id, provider.change_date());
    assert!(provider.duplicates_of(&trainee)?.is_empty());
    provider.insert_trainee(&trainee)?;
    if let Some(key) = key {
        provider.keep_reply(
            key,
            "digest",
            &StoredReply {
                status: 201,
                headers: Vec::new(),
                body: String::new(),
            },
        )?;
    }
    Ok(())
}

fn first_school(measured: &Measured) -> String {
    let found = measured
        .register
        .read(|session| session.first_organisations(1))
        .unwrap();
    found.schools[0].urn.clone()
}

#[test]
fn key_look_up_is_one_round_trip() {
    let Some(measured) = Measured::new() else {
        return;
    };
    measured.register_trainee();
    let shown = measured.round_trips(Access::LookUp, |session, _| {
        let cause = Cause::new("test");
        let mut provider = session
            .authenticate_for_trainee(&measured.digest, cause, "trainee 0")?
            .unwrap();
        assert!(provider.show_trainee("trainee 0")?.is_some());
        Ok(())
    });
    let authenticated = measured.round_trips(Access::LookUp, |session, _| {
        assert!(
            session
                .authenticate(&measured.digest, Cause::new("test"))?
                .is_some()
        );
        Ok(())
    });
    assert_eq!((shown, authenticated), (1, 1));
}

#[test]
fn list_page_is_three_round_trips() {
    let Some(measured) = Measured::new() else {
        return;
    };
    measured.register_trainee();
    let listed = |page: i64, has_trn: Option<bool>| {
        measured.round_trips(Access::Read, |session, _| {
            let mut provider = session
                .authenticate(&measured.digest, Cause::new("test"))?
                .unwrap();
            let listing = Listing {
                cycle: 2025,
                status: None,
                since: None,
                has_trn,
                order: Order::NewestFirst,
                page,
                per_page: 1,
            };
            let standing = provider.standing()?;
            let found = provider.list_trainees(&listing, &standing, &ListTotals::default())?;
            assert_eq!(
                (found.total, found.trainees.len() as i64),
                (1, i64::from(page == 1))
            );
            Ok(())
        })
    };
    assert_eq!(
        (
            listed(1, None),
            listed(2, None),
            listed(1_000_000, None),
            listed(1, Some(false))
        ),
        (3, 2, 2, 3)
    );
}

#[test]
fn changes_and_page_are_two_round_trips() {
    let Some(measured) = Measured::new() else {
        return;
    };
    let urn = first_school(&measured);
    for number in 0..3 {
        let digest = measured.digest.clone();
        let urn = urn.clone();
        measured
            .register
            .write(move |session| register_at(session, &digest, number, None, &urn))
            .unwrap();
    }
    let listing = Listing {
        cycle: 2025,
        status: None,
        since: None,
        has_trn: None,
        order: Order::NewestFirst,
        page: 1,
        per_page: 1,
    };
    let mut cursor = None;
    measured.round_trips(Access::Read, |session, _| {
        let mut provider = session
            .authenticate(&measured.digest, Cause::new("test"))?
            .unwrap();
        let standing = provider.standing()?;
        cursor = provider
            .list_trainees(&listing, &standing, &ListTotals::default())?
            .next;
        Ok(())
    });
    let cursor = cursor.unwrap();
    let page = measured.round_trips(Access::Read, |session, _| {
        let mut provider = session
            .authenticate(&measured.digest, Cause::new("test"))?
            .unwrap();
        let standing = provider.standing()?;
        let page = provider.continue_list(&listing, cursor.clone(), &standing)?;
        let page = page.unwrap();
        assert!(page.trainees.len() == 1 && page.next.is_some());
        Ok(())
    });
    let changes = measured.round_trips(Access::Read, |session, _| {
        let mut provider = session
            .authenticate(&measured.digest, Cause::new("test"))?
            .unwrap();
        let standing = provider.standing()?;
        assert!(
            provider
                .changes(ChangeQuery {
                    after: None,
                    limit: 10,
                    standing: &standing
                })?
                .is_some()
        );
        Ok(())
    });
    assert_eq!((page, changes), (2, 2));
}

#[test]
fn registration_is_five_round_trips() {
    let Some(measured) = Measured::new() else {
        return;
    };
    let urn = first_school(&measured);
    let plain = measured.round_trips(Access::Write, |session, run| {
        register_at(session, &measured.digest, run, None, &urn)
    });
    let keyed = measured.round_trips(Access::Write, |session, run| {
        register_at(
            session,
            &measured.digest,
            10 + run,
            Some(&format!("key {run}")),
            &urn,
        )
    });
    assert_eq!((plain, keyed), (5, 6));
}

#[test]
fn update_is_five_round_trips() {
    let Some(measured) = Measured::new() else {
        return;
    };
    let urn = first_school(&measured);
    measured.register_trainee();
    let updated = measured.round_trips(Access::Write, |session, run| {
        let mut provider = session
            .authenticate_for_trainee(&measured.digest, Cause::new("test"), "trainee 0")?
            .unwrap();
        let stored = provider.find_trainee("trainee 0")?.unwrap();
        provider.organisations(std::slice::from_ref(&urn), &[], &[])?;
        let now = Some(provider.change_date());
        let changed = Trainee {
            last_name: Some(format!("Beech {run}")),
            updated_at: now,
            ..stored.record.clone()
        };
        provider.update_trainee(&stored, &changed)
    });
    assert_eq!(updated, 5);
}

#[test]
fn removing_many_replies_is_five_round_trips() {
    let Some(measured) = Measured::new() else {
        return;
    };
    for number in 0..60 {
        let digest = measured.digest.clone();
        let keep = move |session: &mut Session<'_>| {
            let reply = StoredReply {
                status: 201,
                headers: Vec::new(),
                body: String::new(),
            };
            let mut provider = session.authenticate(&digest, Cause::new("test"))?.unwrap();
            provider.keep_reply(&format!("key {number}"), "digest", &reply)
        };
        measured.register.write(keep).unwrap();
    }
    measured.register.clock.advance(TimeDelta::hours(25));
    let removed = measured.round_trips(Access::Write, |session, _| {
        assert_eq!(session.remove_old_replies(20)?, 20);
        Ok(())
    });
    let totals = totals_of(50);
    let added = measured.round_trips(Access::Write, |session, _| {
        session.record_requests(&[], &totals)
    });
    assert_eq!((removed, added), (5, 1));
    let mut found = Vec::new();
    measured
        .register
        .read(|session| {
            found.clear();
            session.totals_since(totals[0].day, |total| found.push(total.requests))
        })
        .unwrap();
    assert_eq!(found, [3; 50]);
}

/// One request to each of `endpoints` endpoints.
fn totals_of(endpoints: usize) -> Vec<RequestTotal> {
    let at = "2026-03-02T12:00:00Z".parse().unwrap();
    let seen = Seen {
        at,
        request_id: "request".into(),
    };
    let total = |number| RequestTotal {
        day: at.date_naive(),
        token_id: 1,
        version: "v1".to_owned(),
        endpoint: format!("GET /{number}"),
        status: 200,
        kind: TotalKind::Request,
        detail: String::new(),
        requests: 1,
        first: seen.clone(),
        last: seen.clone(),
    };
    (0..endpoints).map(total).collect()
}

#[test]
fn revoked_token_known_to_pools_is_refused() {
    let Some(measured) = Measured::new() else {
        return;
    };
    let store = &measured.register.store;
    let digest = measured.digest.clone();
    let is_accepted = |store: &Store| {
        let digest = digest.clone();
        store.read_blocking(move |session| {
            Ok::<_, StorageError>(session.authenticate(&digest, Cause::new("test"))?.is_some())
        })
    };
    let urn = first_school(&measured);
    // Both pools have used the token.
    assert!(is_accepted(store).unwrap());
    let accepted = digest.clone();
    store
        .write_blocking(move |session| register_at(session, &accepted, 0, None, &urn))
        .unwrap();
    store
        .write_blocking(|session| {
            session
                .revoke_token(1, Actor::operator("operator"))
                .map(drop)
        })
        .unwrap();
    assert!(!is_accepted(store).unwrap());
    let refused = store.write_blocking(move |session| {
        match session.authenticate(&digest, Cause::new("test"))? {
            Some(mut provider) => {
                let now = provider.change_date();
                provider.insert_trainee(&trainee(1, 1, now))?;
                Ok::<_, StorageError>(true)
            }
            None => Ok(false),
        }
    });
    assert!(!refused.unwrap());
    let trainees = trainees::table
        .count()
        .get_result::<i64>(&mut measured.register.second_connection());
    assert_eq!(trainees.unwrap(), 1);
}
