//! Tests of uploads, on the database of the run.

use chrono::TimeDelta;
use database::catalog;
use diesel::connection::SimpleConnection as _;

use super::*;
use crate::maintenance::backup::back_up;
use crate::maintenance::copy::tables::OF_UPLOADS;
use crate::records::erasure::ErasureOrder;
use crate::testing::{Register, UKPRN};

fn editor(register: &Register) -> Uploader {
    let editor = register.user(Some(UKPRN), "a@example.com", UserRole::Editor);
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
fn editor_changed_by_former_release_is_admin() {
    let register = Register::with_provider();
    register.user(Some(UKPRN), "a@example.com", UserRole::Editor);
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
fn lease_moves_to_other_server() {
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
fn sent_upload_does_not_count_towards_limit() {
    let register = Register::with_provider();
    let by = editor(&register);
    let ids: Vec<_> = (0..MAX_UPLOADS).map(|_| add(&register, by)).collect();
    let lease = begin(&register, (by, ids[0]), UploadState::Sending);
    assert!(finish(&register, lease, UploadState::Sent));
    add(&register, by);
}

#[test]
fn upload_unsent_for_a_day_is_stopped() {
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
fn erasure_stops_uploads_and_removes_lines() {
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

#[test]
fn equal_problems_are_stored_once_across_writes() {
    let register = Register::with_provider();
    let by = editor(&register);
    let id = add(&register, by);
    let lease = begin(&register, (by, id), UploadState::Checking);
    let lease = store(&register, &lease, vec![row(3, RowStatus::Refused, "k3")]).unwrap();
    store(&register, &lease, vec![row(5, RowStatus::Refused, "k5")]).unwrap();
    let upload = find(&register, by, id).unwrap();
    register
        .read(move |session| {
            let counted = session.count_upload_problems(&upload, 10)?;
            let numbers: Vec<_> = counted.iter().map(|one| (one.number, one.rows)).collect();
            assert_eq!(numbers, [(1, 2)]);
            let of_problem = session.list_upload_rows(&upload, RowFilter::Problem(1), 3, 9)?;
            assert_eq!(of_problem.len(), 1);
            let listed = session.list_upload_problems(&upload, 2, 5)?;
            assert_eq!(
                listed.iter().map(|one| one.line).collect::<Vec<_>>(),
                [3, 5]
            );
            Ok::<_, StorageError>(())
        })
        .unwrap();
}
