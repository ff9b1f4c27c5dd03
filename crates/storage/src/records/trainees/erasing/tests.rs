//! Tests of erasing trainees (replies, positions) and of finding records of the same person.

use diesel::prelude::*;
use diesel::result::Error as DieselError;
use domain::{Placement, Trainee};

use crate::error::{DatabaseError, StorageError};
use crate::observations::requests::NewRequest;
use crate::observations::requests::tests::refused;
use crate::records::erasure::ErasureOrder;
use crate::records::idempotency::{KeyState, StoredReply};
use crate::schema::{changes, erasures, placement_schools, replies, requests, trainees};
use crate::testing::{NEW_TOKEN, OTHER, Register, UKPRN};

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn order() -> ErasureOrder {
    ErasureOrder {
        by: "A. Operator".to_owned(),
        ground: "case 17".to_owned(),
        erased_at: None,
    }
}

fn erase(register: &Register, trainee_id: &'static str) -> i64 {
    register.in_provider(UKPRN, move |session| {
        let stored = session.find_hidden_trainee(trainee_id)?.unwrap();
        Ok(session
            .erase_trainee(trainee_id, &stored, &order())?
            .entries)
    })
}

fn annabel(trainee_id: &str) -> Trainee {
    Trainee {
        trainee_id: text(trainee_id),
        first_names: text("Annabel"),
        last_name: text("Okafor"),
        email: text("annabel@example.com"),
        date_of_birth: "1999-04-12".parse().ok(),
        ..Trainee::default()
    }
}

#[test]
fn replies_about_trainee_are_blanked() {
    let register = Register::with_two_providers();
    let placement = |id: &str| Placement {
        placement_id: text(id),
        ..Placement::default()
    };
    register.insert(
        UKPRN,
        Trainee {
            placements: vec![placement("p1"), placement("p2")],
            ..annabel("t1")
        },
    );
    register.update("t1", |trainee| {
        trainee.placements.pop();
        trainee.last_name = text("Newname");
    });
    let replies_kept = [
        (
            UKPRN,
            "whole",
            "{\"trainee_id\":\"t1\"}",
            Some(KeyState::Erased),
        ),
        (
            UKPRN,
            "placement",
            "{\"placement_id\":\"p1\"}",
            Some(KeyState::Erased),
        ),
        (
            UKPRN,
            "removed",
            "{\"placement_id\":\"p2\"}",
            Some(KeyState::Erased),
        ),
        (UKPRN, "another-annabel", "{\"trainee_id\":\"t2\"}", None),
        (OTHER, "whole", "{\"trainee_id\":\"t1\"}", None),
    ];
    let reply = |body: &str| StoredReply {
        status: 201,
        headers: Vec::new(),
        body: body.to_owned(),
    };
    for (ukprn, key, body, _) in replies_kept.clone() {
        let reply = reply(body);
        register.in_provider(ukprn, move |session| {
            session.keep_reply(key, "digest", &reply)
        });
    }
    // More replies than one query loads.
    register.in_provider(UKPRN, |session| {
        let other = StoredReply {
            status: 201,
            headers: Vec::new(),
            body: "{}".to_owned(),
        };
        (0..1_200)
            .try_for_each(|number| session.keep_reply(&format!("m{number}"), "digest", &other))
    });
    assert_eq!(erase(&register, "t1"), 2);
    for (ukprn, key, body, expected) in replies_kept {
        let found =
            register.in_provider(ukprn, move |session| session.earlier_reply(key, "digest"));
        assert_eq!(
            found,
            expected.unwrap_or_else(|| KeyState::Reply(reply(body))),
            "{key} of {ukprn}"
        );
    }
    // Forgetting the replies of a provider keeps the keys of replies about erased trainees.
    register.in_provider(UKPRN, |session| session.forget_replies());
    for (key, expected) in [
        ("whole", KeyState::Erased),
        ("another-annabel", KeyState::Unused),
    ] {
        let found =
            register.in_provider(UKPRN, move |session| session.earlier_reply(key, "digest"));
        assert_eq!(found, expected, "{key}");
    }
    let mut connection = register.second_connection();
    let left = replies::table
        .filter(replies::body.like("%t1%"))
        .select(replies::provider_id);
    assert_eq!(left.load::<i64>(&mut connection).unwrap().len(), 1);
    assert_eq!(
        placement_schools::table
            .count()
            .get_result::<i64>(&mut connection)
            .unwrap(),
        0
    );
}

#[test]
fn erasure_has_position_and_is_recorded() {
    let register = Register::with_provider();
    register.insert(UKPRN, annabel("t1"));
    register.insert(
        UKPRN,
        Trainee {
            first_names: text("Bea"),
            ..annabel("t2")
        },
    );
    assert_eq!(erase(&register, "t1"), 1);
    register.update("t2", |trainee| trainee.email = None);
    let mut connection = register.second_connection();
    let positions = trainees::table
        .order(trainees::id)
        .select((trainees::trainee_id, trainees::position));
    let positions = positions.load::<(String, i64)>(&mut connection).unwrap();
    assert!(
        positions[0].0 == "t1" && positions[0].1 < positions[1].1,
        "{positions:?}"
    );
    let entries = changes::table
        .order(changes::id)
        .select((changes::operation, changes::fields));
    let entries = entries.load::<(String, String)>(&mut connection).unwrap();
    assert_eq!(
        entries.iter().filter(|(_, fields)| fields == "{}").count(),
        2,
        "{entries:?}"
    );
    let recorded =
        erasures::table.select((erasures::trainee_id, erasures::erased_by, erasures::ground));
    let recorded = recorded
        .load::<(String, String, String)>(&mut connection)
        .unwrap();
    assert_eq!(
        recorded,
        [(
            "t1".to_owned(),
            "A. Operator".to_owned(),
            "case 17".to_owned()
        )]
    );
    let walked = register
        .read(|session| session.trainees_after(None, 10))
        .unwrap();
    let found: Vec<_> = walked
        .iter()
        .map(|entry| (entry.is_erased, entry.is_blank, entry.is_findable))
        .collect();
    assert_eq!(found, [(true, true, true), (false, false, true)]);
    let changed_since = register.in_provider(UKPRN, |session| {
        let stored = session.find_hidden_trainee("t2")?.unwrap();
        let stale = crate::records::trainees::StoredTrainee {
            revision: 1,
            ..stored
        };
        Ok(matches!(
            session.erase_trainee("t2", &stale, &order()),
            Err(StorageError::Database(DatabaseError::Query(
                DieselError::NotFound
            )))
        ))
    });
    assert!(changed_since);
}

#[test]
fn records_of_same_person_are_found() {
    let register = Register::with_two_providers();
    let trn = text("1234567");
    register.insert(
        UKPRN,
        Trainee {
            trn: trn.clone(),
            ..annabel("t1")
        },
    );
    let born_later = "2000-01-01".parse().ok();
    register.insert(
        OTHER,
        Trainee {
            trn,
            date_of_birth: born_later,
            ..annabel("same-trn")
        },
    );
    register.insert(
        OTHER,
        Trainee {
            first_names: text("A."),
            email: None,
            ..annabel("same-last-name")
        },
    );
    register.insert(
        UKPRN,
        Trainee {
            last_name: text("Smith"),
            email: None,
            ..annabel("same-first-names")
        },
    );
    let other_names = Trainee {
        first_names: text("Bea"),
        last_name: text("Smith"),
        ..annabel("same-email")
    };
    register.insert(UKPRN, other_names.clone());
    register.insert(
        UKPRN,
        Trainee {
            trainee_id: text("same-day"),
            email: None,
            ..other_names
        },
    );
    register.insert(
        UKPRN,
        Trainee {
            date_of_birth: born_later,
            ..annabel("another-day")
        },
    );
    register.insert(UKPRN, annabel("erased"));
    erase(&register, "erased");
    let found = register
        .read(|session| session.records_of_person("t1"))
        .unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|record| (record.ukprn.as_str(), record.trainee_id.as_str()))
        .collect();
    let expected = [
        (UKPRN, "same-email"),
        (UKPRN, "same-first-names"),
        (OTHER, "same-last-name"),
        (OTHER, "same-trn"),
    ];
    assert_eq!(found, expected);
    assert_eq!(
        register
            .read(|session| session.records_of_person("none"))
            .unwrap(),
        []
    );
}

fn record(register: &Register, requests: Vec<NewRequest>) {
    register
        .write(move |session| session.record_requests(&requests, &[]))
        .unwrap();
}

#[test]
fn recorded_requests_of_erased_trainee_are_removed() {
    let register = Register::with_provider();
    register.issue_token(NEW_TOKEN).unwrap();
    let trainee = Trainee {
        provider_trainee_id: text("first"),
        ..annabel("t1")
    };
    register.insert(UKPRN, trainee);
    register.update("t1", |trainee| {
        trainee.provider_trainee_id = text("second");
    });
    let keys = ["first", "second", "t1", "other"];
    record(&register, keys.map(|key| refused(key, None)).to_vec());
    erase(&register, "t1");
    // Written after the erasure, but answered before.
    record(&register, vec![refused("late", Some("t1"))]);
    let left = register
        .read(|session| {
            let keys = requests::table.select(requests::record_key);
            Ok(keys.load::<Option<String>>(session.connection)?)
        })
        .unwrap();
    let left: Vec<String> = left.into_iter().flatten().collect();
    assert_eq!(left, ["other"]);
}
