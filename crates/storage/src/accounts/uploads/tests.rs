//! Tests of uploads, on the database of the run.

use std::time::Duration;

use diesel::connection::SimpleConnection as _;

use super::*;
use crate::accounts::users::{Actor, NewInvitation, Origin, Secret, SecretDigest};
use crate::base::cause::Cause;
use crate::maintenance::backup::back_up;
use crate::maintenance::copy::tables::SHORT_LIVED;
use crate::records::erasure::ErasureOrder;
use crate::testing::{Register, UKPRN};
use database::catalog;

const COMMAND: Actor<'static> = Actor::operator("operator");
const FILE: NewUpload<'static> = NewUpload {
    file_digest: "d",
    rows: 3,
    columns: "c",
};

/// A user of the provider who has just signed in.
fn user(register: &Register, email: &'static str, role: UserRole) -> SignedIn {
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email,
        role,
    };
    register
        .write(move |session| {
            let invited = session.invite_user(COMMAND, request)?;
            let digest = SecretDigest::from_text(invited.secret.reveal());
            let cookie = SecretDigest::from_text(Secret::generate()?.reveal());
            session.accept_invitation(&digest, &cookie, None, Origin::default())?;
            Ok(session.signed_in(&cookie)?.unwrap())
        })
        .unwrap()
}

fn editor(register: &Register) -> Uploader {
    let editor = user(register, "a@example.com", UserRole::Editor);
    editor.uploader().unwrap()
}

fn add(register: &Register, by: Uploader) -> i64 {
    register
        .write(move |session| {
            let id = session.add_upload(by, FILE)?;
            session.add_upload_part(id, 0, "sealed-content")?;
            Ok(id)
        })
        .unwrap()
}

fn find(register: &Register, by: Uploader, id: i64) -> Option<UploadRecord> {
    register
        .read(move |session| session.find_upload(by, id))
        .unwrap()
}

fn check(register: &Register, by: Uploader, id: i64) -> UploadLease {
    register
        .write(move |session| {
            assert!(session.begin_upload_check(by, id, "r")?);
            Ok(session.take_upload_lease(by, id)?.unwrap())
        })
        .unwrap()
}

fn result(line: i64, kind: UploadRowKind) -> UploadResult {
    UploadResult {
        line,
        kind,
        content: format!("sealed {line}"),
    }
}

fn store_results(
    register: &Register,
    lease: &UploadLease,
    lines: &'static [(i64, UploadRowKind)],
) -> Option<UploadLease> {
    let lease = lease.clone();
    register
        .write(move |session| {
            let results: Vec<_> = lines
                .iter()
                .map(|(line, kind)| result(*line, *kind))
                .collect();
            session.add_upload_results(&lease, &results)
        })
        .unwrap()
}

/// The numbers of rows in the tables of uploads.
fn rows_left(register: &Register) -> Vec<i64> {
    let mut connection = register.second_connection();
    let counts = SHORT_LIVED
        .iter()
        .map(|table| catalog::count(&mut connection, table).unwrap());
    counts.collect()
}

#[test]
fn editor_role_survives_invitation_change_and_end() {
    let register = Register::with_provider();
    let admin = user(&register, "b@example.com", UserRole::Admin);
    let editor = user(&register, "a@example.com", UserRole::Editor);
    assert_eq!(editor.role, UserRole::Editor);
    assert!(editor.actor(Origin::default()).is_err());
    assert!(admin.uploader().is_ok() && editor.uploader().is_ok());
    for role in [UserRole::Viewer, UserRole::Editor, UserRole::Admin] {
        let changed = register
            .write(move |session| session.change_role(COMMAND, editor.user_id, role))
            .unwrap();
        assert_eq!(changed.role, role);
    }
    let viewer = user(&register, "c@example.com", UserRole::Viewer);
    assert_eq!(viewer.uploader(), Err(Refusal::NotPermitted));
}

#[test]
fn editor_made_admin_by_former_release_is_admin() {
    let register = Register::with_provider();
    user(&register, "a@example.com", UserRole::Editor);
    register
        .write(|session| {
            session
                .connection
                .batch_execute("UPDATE users SET role = 'admin'")
                .map_err(StorageError::from)
        })
        .unwrap();
    let users = register
        .read(|session| session.list_users(Some(UKPRN)))
        .unwrap();
    assert_eq!(users[0].role, UserRole::Admin);
}

#[test]
fn upload_is_found_by_its_user_only() {
    let register = Register::with_provider();
    let by = editor(&register);
    let other = user(&register, "b@example.com", UserRole::Admin)
        .uploader()
        .unwrap();
    let id = add(&register, by);
    let part = |by, part| {
        register
            .read(move |session| session.upload_part(by, id, part))
            .unwrap()
    };
    assert_eq!(part(by, 0).as_deref(), Some("sealed-content"));
    assert_eq!(part(by, 1), None);
    assert_eq!(part(other, 0), None);
    assert_eq!(
        find(&register, by, id).unwrap().state,
        UploadState::Received
    );
    assert_eq!(find(&register, other, id), None);
    register
        .write(move |session| {
            assert!(!session.assign_upload_columns(other, id, "x")?);
            assert!(!session.begin_upload_check(other, id, "")?);
            assert!(!session.delete_upload(other, id)?);
            assert!(session.assign_upload_columns(by, id, "x")?);
            assert!(session.delete_upload(by, id)?);
            Ok(())
        })
        .unwrap();
    assert_eq!(rows_left(&register), [0, 0, 0]);
}

#[test]
fn user_has_limited_number_of_uploads() {
    let register = Register::with_provider();
    let by = editor(&register);
    for _ in 0..MAX_UPLOADS {
        add(&register, by);
    }
    let refused = register.write(move |session| session.add_upload(by, FILE));
    assert!(
        matches!(
            &refused,
            Err(StorageError::Refused(Refusal::TooManyUploads))
        ),
        "{refused:?}"
    );
}

#[test]
fn results_are_counted_and_listed_by_line() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = check(&register, by, id);
    let rows = &[(2, UploadRowKind::Register), (4, UploadRowKind::Refused)];
    let lease = store_results(&register, &lease, rows).unwrap();
    let lease = store_results(&register, &lease, &[(6, UploadRowKind::Register)]).unwrap();
    register
        .write(move |session| {
            assert_eq!(session.last_upload_line(id, UploadStage::Check)?, 6);
            assert!(session.finish_upload_work(&lease)?);
            let counts = session.count_upload_results(by, id)?;
            let counts: Vec<_> = counts
                .iter()
                .map(|count| (count.kind, count.rows))
                .collect();
            let expected = [(UploadRowKind::Refused, 1), (UploadRowKind::Register, 2)];
            assert_eq!(counts, expected);
            let list = |session: &mut Session<'_>, kind, after| {
                let listed =
                    session.list_upload_results(by, id, UploadStage::Check, kind, after, 2)?;
                Ok::<_, StorageError>(listed.iter().map(|result| result.line).collect::<Vec<_>>())
            };
            assert_eq!(list(session, None, 0)?, [2, 4]);
            assert_eq!(list(session, None, 4)?, [6]);
            assert_eq!(list(session, Some(UploadRowKind::Register), 0)?, [2, 6]);
            assert_eq!(
                session.find_upload(by, id)?.unwrap().state,
                UploadState::Checked
            );
            // Other columns make the results invalid.
            assert!(session.assign_upload_columns(by, id, "x")?);
            assert_eq!(session.count_upload_results(by, id)?, []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn lease_moves_to_other_server_after_its_end() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let first = check(&register, by, id);
    let take = || {
        register
            .write(move |session| session.take_upload_lease(by, id))
            .unwrap()
    };
    assert_eq!(take(), None);
    register.clock.advance(TimeDelta::seconds(30));
    let second = take().unwrap();
    let row = &[(2, UploadRowKind::Equal)];
    assert_eq!(store_results(&register, &first, row), None);
    let finished = register.write(move |session| session.finish_upload_work(&first));
    assert!(!finished.unwrap());
    let second = store_results(&register, &second, row).unwrap();
    register
        .write(move |session| {
            assert!(session.finish_upload_work(&second)?);
            assert!(session.begin_upload_sending(by, id)?);
            assert!(!session.begin_upload_sending(by, id)?);
            assert!(!session.assign_upload_columns(by, id, "x")?);
            assert!(session.take_upload_lease(by, id)?.is_some());
            assert!(!session.delete_upload(by, id)?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn delayed_upload_has_no_lease_until_pause_is_over() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = check(&register, by, id);
    let pause = Duration::from_secs(60);
    let delayed = register.write(move |session| session.delay_upload_work(&lease, pause));
    delayed.unwrap();
    let take = || {
        register
            .write(move |session| session.take_upload_lease(by, id))
            .unwrap()
    };
    register.clock.advance(TimeDelta::seconds(59));
    assert_eq!(take(), None);
    register.clock.advance(TimeDelta::seconds(1));
    assert!(take().is_some());
}

#[test]
fn upload_is_removed_an_hour_after_its_work() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let remove = || {
        register
            .write(|session| session.remove_old_uploads(100))
            .unwrap()
    };
    register.clock.advance(TimeDelta::minutes(50));
    let lease = check(&register, by, id);
    register.clock.advance(TimeDelta::minutes(50));
    let lease = store_results(&register, &lease, &[(2, UploadRowKind::Equal)]).unwrap();
    register
        .write(move |session| session.finish_upload_work(&lease))
        .unwrap();
    register.clock.advance(TimeDelta::minutes(59));
    assert_eq!(remove(), 0);
    register.clock.advance(TimeDelta::minutes(1));
    assert_eq!(remove(), 1);
    assert_eq!(rows_left(&register), [0, 0, 0]);
}

#[test]
fn result_puts_off_removal_of_upload() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = check(&register, by, id);
    register.clock.advance(TimeDelta::minutes(59));
    store_results(&register, &lease, &[(2, UploadRowKind::Equal)]).unwrap();
    register.clock.advance(TimeDelta::minutes(59));
    let is_over = || register.read(|session| session.has_old_upload()).unwrap();
    assert!(!is_over() && find(&register, by, id).is_some());
    register.clock.advance(TimeDelta::minutes(1));
    assert!(is_over() && find(&register, by, id).is_none());
}

#[test]
fn uploads_end_with_access_of_user_or_erasure() {
    let register = Register::with_provider();
    register.add_trainee("t1");
    let by = editor(&register);
    let id = add(&register, by);
    let lease = check(&register, by, id);
    register
        .write(|session| {
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            let stored = provider.find_hidden_trainee("t1")?.unwrap();
            let order = ErasureOrder {
                by: "operator".to_owned(),
                ground: "request".to_owned(),
                erased_at: None,
            };
            provider.erase_trainee("t1", &stored, &order)
        })
        .unwrap();
    assert_eq!(rows_left(&register), [0, 0, 0]);
    // The job that has read the file must stop.
    assert_eq!(
        store_results(&register, &lease, &[(2, UploadRowKind::Register)]),
        None
    );

    add(&register, by);
    register
        .write(move |session| session.remove_user(COMMAND, by.user_id))
        .unwrap();
    assert_eq!(rows_left(&register), [0, 0, 0]);
}

#[test]
fn backup_contains_no_part_of_upload() {
    let register = Register::on_sqlite();
    register.add_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = check(&register, by, id);
    store_results(&register, &lease, &[(2, UploadRowKind::Refused)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup.db");
    back_up(register.url(), &backup, false, None).unwrap();
    let bytes = std::fs::read(&backup).unwrap();
    for sealed in [&b"sealed-content"[..], b"sealed 2"] {
        assert!(!bytes.windows(sealed.len()).any(|window| window == sealed));
    }
    assert_eq!(rows_left(&register), [1, 1, 1]);
}
