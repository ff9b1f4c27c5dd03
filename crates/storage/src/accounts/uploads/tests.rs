//! Tests of uploads, on the database of the run.

use chrono::TimeDelta;
use database::catalog;
use diesel::connection::SimpleConnection as _;

use super::*;
use crate::accounts::users::{Actor, NewInvitation, Origin, Secret, SecretDigest};
use crate::maintenance::backup::back_up;
use crate::maintenance::copy::tables::OF_UPLOADS;
use crate::records::erasure::ErasureOrder;
use crate::testing::{Register, UKPRN};

const COMMAND: Actor<'static> = Actor::operator("operator");

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

fn row(line: i64, status: RowStatus, key: &str) -> UploadRow {
    UploadRow {
        line,
        status,
        record_key: Some(key.to_owned()),
        trainee_id: None,
        cells: format!("plain-content {line}"),
        details: "{}".to_owned(),
    }
}

fn rows() -> Vec<UploadRow> {
    [2, 3, 5]
        .map(|line| row(line, RowStatus::Waiting, &format!("k{line}")))
        .to_vec()
}

fn add(register: &Register, by: Uploader) -> i64 {
    register
        .write(move |session| session.add_upload(by, "content", &rows()))
        .unwrap()
}

fn find(register: &Register, by: Uploader, id: i64) -> Option<UploadRecord> {
    register
        .read(move |session| session.find_upload(by, id))
        .unwrap()
}

/// Moves an upload to a working state, and takes its lease.
fn begin(register: &Register, (by, id): (Uploader, i64), to: UploadState) -> UploadLease {
    register
        .write(move |session| {
            let states = UploadState::ALL;
            assert!(session.begin_upload_work((by, id), &states, to, "content")?);
            let (upload, lease) = session.take_upload_lease()?.unwrap();
            assert_eq!((upload.id, upload.state), (id, to));
            Ok(lease)
        })
        .unwrap()
}

fn take(register: &Register) -> Option<UploadLease> {
    let taken = register.write(|session| session.take_upload_lease());
    taken.unwrap().map(|(_, lease)| lease)
}

fn store(register: &Register, lease: &UploadLease, rows: Vec<UploadRow>) -> Option<UploadLease> {
    let lease = lease.clone();
    register
        .write(move |session| {
            let problems = rows
                .iter()
                .filter(|row| RowStatus::FAILED.contains(&row.status));
            let problems: Vec<_> = problems
                .map(|row| UploadProblem {
                    line: row.line,
                    heading: "email".to_owned(),
                    words: "is plain-content".to_owned(),
                })
                .collect();
            session.store_upload_rows(&lease, &rows, &problems)
        })
        .unwrap()
}

fn finish(register: &Register, lease: UploadLease, to: UploadState) -> bool {
    register
        .write(move |session| session.finish_upload_work(&lease, to, None))
        .unwrap()
}

/// The numbers of rows in the tables of chosen names, uploads, rows and problems.
fn rows_left(register: &Register) -> Vec<i64> {
    let mut connection = register.second_connection();
    let counts = OF_UPLOADS
        .iter()
        .map(|table| catalog::count(&mut connection, table).unwrap());
    counts.collect()
}

/// All statuses of the tested rows.
const ALL: [RowStatus; 5] = [
    RowStatus::Waiting,
    RowStatus::Registered,
    RowStatus::Refused,
    RowStatus::RefusedWhenSent,
    RowStatus::Equal,
];

fn all_rows(register: &Register, upload: UploadRecord) -> Vec<UploadRow> {
    register
        .read(move |session| session.list_upload_rows(&upload, RowFilter::Statuses(&ALL), 0, 100))
        .unwrap()
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
fn upload_is_found_and_changed_by_its_user_only() {
    let register = Register::with_provider();
    let by = editor(&register);
    let other = user(&register, "b@example.com", UserRole::Admin)
        .uploader()
        .unwrap();
    let id = add(&register, by);
    let upload = find(&register, by, id).unwrap();
    assert_eq!(
        (upload.state, upload.content.as_str(), upload.rows),
        (UploadState::Received, "content", 3)
    );
    assert_eq!(all_rows(&register, upload), rows());
    assert_eq!(find(&register, other, id), None);
    register
        .write(move |session| {
            let (from, to) = ([UploadState::Received], UploadState::Preparing);
            assert!(!session.begin_upload_work((other, id), &from, to, "")?);
            assert!(!session.delete_upload(other, id)?);
            assert!(session.begin_upload_work((by, id), &from, to, "other")?);
            assert!(!session.begin_upload_work((by, id), &from, to, "")?);
            assert!(session.delete_upload(by, id)?);
            Ok(())
        })
        .unwrap();
    assert_eq!(rows_left(&register), [0, 0, 0, 0]);
}

#[test]
fn user_has_limited_number_of_unsent_uploads() {
    let register = Register::with_provider();
    let by = editor(&register);
    for _ in 1..MAX_UPLOADS {
        add(&register, by);
    }
    let id = add(&register, by);
    let refused = register.write(move |session| session.add_upload(by, "", &[]));
    assert!(
        matches!(
            &refused,
            Err(StorageError::Refused(Refusal::TooManyUploads))
        ),
        "{refused:?}"
    );
    let lease = begin(&register, (by, id), UploadState::Sending);
    assert!(finish(&register, lease, UploadState::Sent));
    add(&register, by);
}

#[test]
fn results_are_counted_and_listed_by_status_and_problem() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = begin(&register, (by, id), UploadState::Checking);
    let results = vec![
        row(2, RowStatus::Register, "k2"),
        row(3, RowStatus::Refused, "k3"),
    ];
    let lease = store(&register, &lease, results).unwrap();
    let later_results = vec![row(5, RowStatus::Refused, "k5")];
    let lease = store(&register, &lease, later_results).unwrap();
    assert!(finish(&register, lease, UploadState::Checked));
    let upload = find(&register, by, id).unwrap();
    register
        .read(move |session| {
            let mut counts = session.count_upload_rows(&upload)?;
            counts.sort_by_key(|(status, _)| status.name());
            assert_eq!(counts, [(RowStatus::Refused, 2), (RowStatus::Register, 1)]);
            let problems = session.count_upload_problems(&upload, 10)?;
            assert_eq!((problems.len(), problems[0].rows), (1, 2));
            for filter in [
                RowFilter::Statuses(&[RowStatus::Refused]),
                RowFilter::Problem(problems[0].number),
            ] {
                let mut list = |after| {
                    let rows = session.list_upload_rows(&upload, filter, after, 1)?;
                    Ok::<_, StorageError>(rows.first().map(|row| row.line))
                };
                let lines = (list(0)?, list(3)?, list(5)?);
                assert_eq!(lines, (Some(3), Some(5), None));
            }
            assert_eq!(session.list_upload_problems(&upload, 3, 3)?.len(), 1);
            Ok::<_, StorageError>(())
        })
        .unwrap();
}

#[test]
fn lease_moves_to_other_server_after_its_end() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let first = begin(&register, (by, id), UploadState::Checking);
    assert_eq!(take(&register), None);
    register.clock.advance(TimeDelta::seconds(30));
    let second = take(&register).unwrap();
    let result = vec![row(2, RowStatus::Equal, "k2")];
    assert_eq!(store(&register, &first, result.clone()), None);
    assert!(!finish(&register, first, UploadState::Checked));
    let second = store(&register, &second, result).unwrap();
    assert!(finish(&register, second, UploadState::Checked));
    assert_eq!(take(&register), None);
}

#[test]
fn sender_of_upload_must_still_be_allowed_to_upload() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let is_allowed = || {
        let sender = register.read(move |session| session.upload_sender(by, id));
        sender.unwrap().is_some()
    };
    assert!(!is_allowed());
    begin(&register, (by, id), UploadState::Sending);
    assert!(is_allowed());
    for (role, allowed) in [
        (UserRole::Viewer, false),
        (UserRole::Admin, true),
        (UserRole::Editor, true),
    ] {
        let change = move |session: &mut Session<'_>| {
            session.change_role(COMMAND, by.user_id, role).map(drop)
        };
        register.write(change).unwrap();
        assert_eq!(is_allowed(), allowed, "{role:?}");
    }
    register
        .write(move |session| session.remove_user(COMMAND, by.user_id))
        .unwrap();
    assert!(!is_allowed());
}

#[test]
fn sent_upload_leaves_report_for_thirty_days() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = begin(&register, (by, id), UploadState::Sending);
    let results = vec![
        row(2, RowStatus::Registered, "k2"),
        row(3, RowStatus::RefusedWhenSent, "k3"),
    ];
    let lease = store(&register, &lease, results).unwrap();
    assert!(finish(&register, lease, UploadState::Sent));
    let remove = || {
        register
            .write(|session| session.remove_old_uploads())
            .unwrap()
    };
    let cells = || {
        let mut upload = find(&register, by, id);
        let upload = upload.take().unwrap_or(UploadRecord {
            id,
            by,
            state: UploadState::Sent,
            rows: 3,
            content: String::new(),
            created_at: DateTime::UNIX_EPOCH,
        });
        let rows = all_rows(&register, upload);
        rows.into_iter().map(|row| row.cells).collect::<Vec<_>>()
    };
    // The row that is refused can be corrected for a day.
    assert_eq!(cells(), ["", "plain-content 3", ""]);
    let deleted = register.write(move |session| session.delete_upload(by, id));
    assert!(!deleted.unwrap());
    register.clock.advance(TimeDelta::hours(22));
    assert_eq!(remove(), 0);
    register.clock.advance(TimeDelta::hours(1));
    assert_eq!((remove(), remove()), (1, 0));
    assert_eq!(find(&register, by, id), None);
    assert_eq!(cells(), ["", "", ""]);
    assert_eq!(rows_left(&register), [0, 0, 3, 1]);
    register.clock.advance(TimeDelta::days(29));
    assert_eq!(remove(), 0);
    register.clock.advance(TimeDelta::hours(1));
    assert_eq!(remove(), 1);
    assert_eq!(rows_left(&register), [0, 0, 0, 0]);
}

#[test]
fn upload_that_is_not_sent_within_a_day_is_stopped() {
    let register = Register::with_provider();
    let by = editor(&register);
    let (unsent, sending) = (add(&register, by), add(&register, by));
    let lease = begin(&register, (by, sending), UploadState::Sending);
    register.clock.advance(TimeDelta::hours(23));
    let removed = register.write(|session| session.remove_old_uploads());
    assert_eq!(removed.unwrap(), 2);
    assert_eq!(find(&register, by, unsent), None);
    assert_eq!(store(&register, &lease, Vec::new()), None);
    assert_eq!(rows_left(&register), [0, 0, 3, 1]);
}

#[test]
fn erasure_stops_uploads_and_removes_lines_of_person() {
    let register = Register::with_provider();
    register.add_trainee("t1");
    let by = editor(&register);
    let sent = add(&register, by);
    let lease = begin(&register, (by, sent), UploadState::Sending);
    let person = UploadRow {
        trainee_id: Some("t1".to_owned()),
        ..row(3, RowStatus::Registered, "k3")
    };
    let lease = store(&register, &lease, vec![person]).unwrap();
    assert!(finish(&register, lease, UploadState::Sent));
    let running = add(&register, by);
    let lease = begin(&register, (by, running), UploadState::Sending);
    let waiting = add(&register, by);
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
    // The job that has read rows must stop.
    assert_eq!(store(&register, &lease, Vec::new()), None);
    let sender = register.read(move |session| session.upload_sender(by, running));
    assert!(sender.unwrap().is_none());
    for (id, state, lines) in [
        (sent, UploadState::Sent, vec![2, 5]),
        (running, UploadState::StoppedByErasure, vec![2, 3, 5]),
        (waiting, UploadState::StoppedByErasure, vec![2, 3, 5]),
    ] {
        let upload = find(&register, by, id).unwrap();
        assert_eq!((upload.state, upload.content.as_str()), (state, ""));
        let rows = all_rows(&register, upload);
        assert!(rows.iter().all(|row| row.cells.is_empty()));
        let found: Vec<_> = rows.iter().map(|row| row.line).collect();
        assert_eq!(found, lines);
    }
}

#[test]
fn backup_contains_no_part_of_upload() {
    let register = Register::on_sqlite();
    register.add_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = begin(&register, (by, id), UploadState::Checking);
    store(&register, &lease, vec![row(2, RowStatus::Refused, "k2")]);
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup.db");
    back_up(register.url(), &backup, false, None).unwrap();
    let bytes = std::fs::read(&backup).unwrap();
    let content = &b"plain-content"[..];
    assert!(!bytes.windows(content.len()).any(|window| window == content));
    assert_eq!(rows_left(&register), [0, 1, 3, 1]);
}
