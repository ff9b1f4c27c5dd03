#![expect(
    clippy::disallowed_methods,
    reason = "a test waits on a thread of its own"
)]

use std::time::Duration;

use super::*;
use crate::testing::Register;

fn school(number: usize, name: &str) -> SchoolDetails {
    SchoolDetails {
        urn: format!("{number:06}"),
        name: name.to_owned(),
        postcode: None,
        open: true,
    }
}

fn partner(urn: Option<&str>, ukprn: Option<&str>, name: &str) -> PartnerDetails {
    PartnerDetails {
        urn: urn.map(str::to_owned),
        ukprn: ukprn.map(str::to_owned),
        name: name.to_owned(),
    }
}

fn merge<O: Organisation>(register: &Register, organisations: &[O]) -> Merged {
    let mut merge = Merge::begin(&register.store).unwrap();
    organisations
        .iter()
        .for_each(|organisation| merge.take(organisation.clone()).unwrap());
    merge.finish().unwrap()
}

fn stored<O: Organisation>(register: &Register) -> Vec<(i64, O)> {
    register.read(O::stored).unwrap()
}

#[test]
fn merge_writes_differences_and_removes_nothing() {
    let register = Register::new();
    let first = [school(1, "Ash"), school(2, "Beech"), school(3, "Cedar")];
    assert_eq!(
        merge(&register, &first),
        Merged {
            added: 3,
            changed: 0,
            unchanged: 0
        }
    );
    let closed = SchoolDetails {
        open: false,
        postcode: Some("ZZ1 1AA".to_owned()),
        ..school(2, "Beech")
    };
    let second = [school(4, "Damson"), closed.clone(), school(1, "Ash")];
    assert_eq!(
        merge(&register, &second),
        Merged {
            added: 1,
            changed: 1,
            unchanged: 1
        }
    );
    let expected = [
        (1, school(1, "Ash")),
        (2, closed),
        (3, school(3, "Cedar")),
        (4, school(4, "Damson")),
    ];
    assert_eq!(stored::<SchoolDetails>(&register), expected);
}

#[test]
fn renaming_school_updates_placements_and_history() {
    use domain::{Placement, State, Trainee};

    use crate::testing::UKPRN;

    let register = Register::with_provider();
    merge(&register, &[school(1, "Ash"), school(2, "Beech")]);
    let add = |session: &mut Session<'_>| {
        let now = session.now();
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        for number in 0..120 {
            let placement = |school_id| Placement {
                placement_id: Some(format!("placement {school_id} of {number}")),
                urn: Some(format!("{school_id:06}")),
                name: Some(if school_id == 1 { "Ash" } else { "Beech" }.to_owned()),
                school_id: Some(school_id),
                created_at: Some(now),
                updated_at: Some(now),
                ..Placement::default()
            };
            provider.insert_trainee(&Trainee {
                trainee_id: Some(format!("trainee {number}")),
                state: Some(State::SubmittedForTrn),
                placements: (1..=2).map(placement).collect(),
                created_at: Some(now),
                updated_at: Some(now),
                ..Trainee::default()
            })?;
        }
        Ok(now)
    };
    let before = register.write(add).unwrap();
    let mut change = Merge::begin(&register.store).unwrap().by("A. Operator");
    change.take(school(1, "Ashes")).unwrap();
    // Closing a school does not change its placements.
    change
        .take(SchoolDetails {
            open: false,
            ..school(2, "Beech")
        })
        .unwrap();
    change.finish().unwrap();
    for number in 0..120 {
        let id = format!("trainee {number}");
        let (record, history) = register
            .read(|session| {
                let record = session
                    .open_provider(UKPRN, Cause::new("test"))?
                    .unwrap()
                    .find_trainee(&id)?;
                Ok((record.unwrap().record, session.history_of(&id)?.unwrap()))
            })
            .unwrap();
        let names: Vec<_> = record
            .placements
            .iter()
            .map(|placement| placement.name.as_deref().unwrap())
            .collect();
        assert_eq!(names, ["Ashes", "Beech"]);
        assert!(
            record.updated_at.unwrap() > before
                && record.placements[1].updated_at.unwrap() == before
        );
        assert_eq!(record.placements[0].updated_at, record.updated_at);
        let [_, entry] = history.entries.as_slice() else {
            panic!("{history:?}")
        };
        assert_eq!(
            (entry.operation.as_str(), entry.by.as_deref()),
            ("school import", Some("A. Operator"))
        );
    }
}

#[test]
fn next_import_completes_an_interrupted_one() {
    use domain::{Placement, State, Trainee};

    use crate::testing::UKPRN;

    let register = Register::with_provider();
    merge(&register, &[school(1, "Ash")]);
    let add = |session: &mut Session<'_>| {
        let now = Some(session.now());
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        let placement = Placement {
            placement_id: Some("placement".to_owned()),
            name: Some("Ash".to_owned()),
            school_id: Some(1),
            created_at: now,
            updated_at: now,
            ..Placement::default()
        };
        provider.insert_trainee(&Trainee {
            trainee_id: Some("trainee".to_owned()),
            state: Some(State::SubmittedForTrn),
            placements: vec![placement],
            created_at: now,
            updated_at: now,
            ..Trainee::default()
        })
    };
    register.write(add).unwrap();
    // The import was interrupted after the change of the school.
    let change = |session: &mut Session<'_>| {
        SchoolDetails::set_due(session, &[1])?;
        school(1, "Ashes").replace(1, session)
    };
    register.write(change).unwrap();
    merge(&register, &[school(1, "Ashes")]);
    let found = register.read(|session| {
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        Ok((
            provider.find_trainee("trainee")?,
            SchoolDetails::due(session)?,
        ))
    });
    let (found, due) = found.unwrap();
    let name = found.unwrap().record.placements.remove(0).name;
    assert_eq!((name.as_deref(), due.as_slice()), (Some("Ashes"), &[][..]));
}

#[test]
fn renaming_school_updates_concurrently_written_placement() {
    use std::sync::mpsc;

    use domain::{Placement, State, Trainee};
    use test_support::Kind;

    use crate::testing::UKPRN;

    if Kind::from_environment() == Kind::Sqlite {
        // SQLite runs one write after the other.
        return;
    }
    let register = Register::with_provider();
    merge(&register, &[school(1, "Ash")]);
    let (send_read, has_read) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel::<()>();
    let request = register.another_store();
    let request = thread::spawn(move || {
        request.write_blocking(move |session| {
            let now = session.now();
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            let found = provider
                .organisations(&["000001".to_owned()], &[], &[])?
                .schools
                .remove(0);
            send_read.send(()).unwrap();
            goes_on.recv().unwrap();
            provider.insert_trainee(&Trainee {
                trainee_id: Some("trainee".to_owned()),
                state: Some(State::SubmittedForTrn),
                placements: vec![Placement {
                    placement_id: Some("placement".to_owned()),
                    name: Some(found.name),
                    school_id: Some(found.id),
                    created_at: Some(now),
                    updated_at: Some(now),
                    ..Placement::default()
                }],
                created_at: Some(now),
                updated_at: Some(now),
                ..Trainee::default()
            })
        })
    });
    has_read.recv().unwrap();
    let (send_merged, merged) = mpsc::channel();
    let importing = register.another_store();
    let import = thread::spawn(move || {
        let mut merge = Merge::begin(&importing).unwrap();
        merge.take(school(1, "Ashes")).unwrap();
        send_merged.send(merge.finish().unwrap()).unwrap();
    });
    while stored::<SchoolDetails>(&register)[0].1.name == "Ash" {
        thread::sleep(Duration::from_millis(10));
    }
    let early = merged.recv_timeout(Duration::from_millis(300));
    go_on.send(()).unwrap();
    request.join().unwrap().unwrap();
    import.join().unwrap();
    let name = register.read(|session| {
        let found = session
            .open_provider(UKPRN, Cause::new("test"))?
            .unwrap()
            .find_trainee("trainee")?;
        Ok(found.unwrap().record.placements.remove(0).name)
    });
    assert_eq!(name.unwrap().as_deref(), Some("Ashes"));
    early.expect_err("the import did not wait");
    assert_eq!(
        merged.recv().unwrap(),
        Merged {
            added: 0,
            changed: 1,
            unchanged: 0
        }
    );
}

#[test]
fn repeated_merge_takes_no_transaction() {
    let register = Register::new();
    let count = 2 * BATCH + 1;
    let schools: Vec<_> = (0..count).map(|number| school(number, "Ash")).collect();
    let before = register.store.writer_stats().groups;
    assert_eq!(
        merge(&register, &schools),
        Merged {
            added: count,
            ..Merged::default()
        }
    );
    assert_eq!(register.store.writer_stats().groups - before, 3);
    let before = register.store.writer_stats();
    assert_eq!(
        merge(&register, &schools),
        Merged {
            unchanged: count,
            ..Merged::default()
        }
    );
    assert_eq!(register.store.writer_stats(), before);
}

#[test]
fn partner_is_identified_by_urn_or_ukprn() {
    let register = Register::new();
    let first = [
        partner(Some("100001"), Some("10000001"), "Ash"),
        partner(None, Some("10000001"), "Beech"),
        partner(None, Some("10000002"), "Cedar"),
    ];
    assert_eq!(
        merge(&register, &first),
        Merged {
            added: 3,
            changed: 0,
            unchanged: 0
        }
    );
    let second = [
        partner(Some("100001"), Some("10000009"), "Ash"),
        partner(None, Some("10000001"), "Beech Trust"),
        partner(None, Some("10000002"), "Cedar"),
    ];
    assert_eq!(
        merge(&register, &second),
        Merged {
            added: 0,
            changed: 2,
            unchanged: 1
        }
    );
    let now: Vec<_> = stored::<PartnerDetails>(&register)
        .into_iter()
        .map(|(_, partner)| partner)
        .collect();
    assert_eq!(now, second);
}

#[test]
fn failed_batch_is_rolled_back_alone() {
    let register = Register::new();
    let mut merge = Merge::begin(&register.store).unwrap();
    (0..BATCH).for_each(|number| merge.take(school(number, "Ash")).unwrap());
    // Takes the same organisation twice, which `Merge` does not permit.
    [school(900, "Beech"), school(900, "Beech")]
        .into_iter()
        .for_each(|school| merge.take(school).unwrap());
    assert!(merge.finish().unwrap_err().is_unique_violation());
    assert_eq!(stored::<SchoolDetails>(&register).len(), BATCH);
}
