//! Months are archived and removed, also interrupted, and the history stays whole.

use std::fs;
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use domain::{State, Trainee};
use tempfile::TempDir;

use super::*;
use crate::catalog;
use crate::history::{Cause, TraineeHistory};
use crate::session::Session;
use crate::testing::{Register, UKPRN};
use crate::trainees::BatchEntry;
use crate::usage::{CheckCount, UsageBatch};

/// Years whose months are in the first partition on PostgreSQL, and have a partition each.
const YEARS: [&str; 2] = ["2026", "2124"];

fn month(year: &str, month: u32) -> Month {
    format!("{year}-{month:02}").parse().unwrap()
}

fn set_clock(register: &Register, year: &str, day: &str) {
    register.clock.set(&format!("{year}-{day}"));
    register.write(|session| session.make_partitions()).unwrap();
}

fn create(register: &Register, id: &'static str) {
    let job = move |session: &mut Session<'_>| {
        let now = session.now();
        let mut provider = session.open_provider(UKPRN, Cause::of("create"))?.unwrap();
        provider.insert_trainee(&Trainee {
            trainee_id: Some(id.to_owned()),
            ukprn: Some(UKPRN.to_owned()),
            last_name: Some("Example".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: Some(now),
            updated_at: Some(now),
            ..Trainee::default()
        })
    };
    register.write(job).unwrap();
}

fn update(register: &Register, id: &'static str, email: &'static str) {
    let job = move |session: &mut Session<'_>| {
        let mut provider = session.open_provider(UKPRN, Cause::of("update"))?.unwrap();
        let stored = provider.find_trainee(id)?.unwrap();
        let changed = Trainee {
            email: Some(email.to_owned()),
            updated_at: Some(provider.change_date()),
            ..stored.record.clone()
        };
        provider.update_trainee(&stored, &changed)
    };
    register.write(job).unwrap();
}

/// A register with entries in June, July and August of a year, in September.
fn register(year: &str) -> Register {
    let register = Register::with_provider();
    set_clock(&register, year, "06-10");
    create(&register, "one");
    set_clock(&register, year, "07-31");
    update(&register, "one", "july@example.com");
    set_clock(&register, year, "08-01");
    update(&register, "one", "august@example.com");
    create(&register, "two");
    set_clock(&register, year, "09-15");
    register
}

fn archive(register: &Register, before: Month, folder: &TempDir) -> Result<Vec<String>, ArchiveError> {
    let mut files = Vec::new();
    let report = |month: &ArchivedMonth| files.push(month.file_name());
    Archive::of(&register.store)?.archive(Kind::History, before, folder.path(), report)?;
    Ok(files)
}

fn remove(register: &Register, before: Month, folder: &TempDir) -> Result<Vec<String>, ArchiveError> {
    let mut files = Vec::new();
    let report = |month: &ArchivedMonth| files.push(month.file_name());
    Archive::of(&register.store)?.remove(Kind::History, before, folder.path(), report)?;
    Ok(files)
}

fn history(register: &Register, id: &str) -> TraineeHistory {
    register.read(|session| session.history_of(id)).unwrap().unwrap()
}

fn entries(register: &Register) -> i64 {
    catalog::count(&mut register.second_connection(), "changes").unwrap()
}

/// Whether all records are what their histories lead to.
fn agrees(register: &Register, folder: Option<&TempDir>) -> bool {
    let removed = register.read(|session| session.removed_history()).unwrap();
    let mut archive = folder.map(|folder| ArchivedEntries::open(folder.path(), &removed).unwrap());
    let found: Vec<BatchEntry> = register.read(|session| session.trainees_after(None, 10, archive.as_mut())).unwrap();
    assert_eq!(found.len(), 2);
    found.iter().all(|trainee| trainee.follows_from_history)
}

/// Adds an entry as a server of the release before would, whose clock is wrong.
fn add_entry(register: &Register, date: &str) {
    let mut connection = register.second_connection();
    let key = "(SELECT id FROM trainees WHERE trainee_id = 'one')";
    let insert = "INSERT INTO changes (trainee_key, changed_at, operation, fields) VALUES";
    connection
        .batch_execute(&format!("{insert} ({key}, '{date} 12:00:00', 'update', '{{\"email\":[null,null]}}')"))
        .unwrap();
}

#[test]
fn the_history_of_removed_months_is_read_from_their_files() {
    for year in YEARS {
        let (register, folder) = (register(year), tempfile::tempdir().unwrap());
        let (before, end) = (history(&register, "one"), month(year, 8));
        let files = [6, 7].map(|number| Kind::History.file_name(month(year, number)));
        assert_eq!(archive(&register, end, &folder).unwrap(), files);
        assert_eq!(archive(&register, end, &folder).unwrap(), [""; 0], "they are archived");
        assert!(agrees(&register, None) && agrees(&register, Some(&folder)));
        assert_eq!(history(&register, "one"), before, "nothing is removed yet");

        assert_eq!(remove(&register, end, &folder).unwrap(), files);
        assert_eq!(remove(&register, end, &folder).unwrap(), [""; 0]);
        assert_eq!(archive(&register, end, &folder).unwrap(), [""; 0]);
        assert_eq!(entries(&register), 2);
        assert!(agrees(&register, None) && agrees(&register, Some(&folder)));

        let left = history(&register, "one");
        assert_eq!(left.removed.iter().map(ArchivedMonth::file_name).collect::<Vec<_>>(), files);
        assert_eq!(left.entries, before.entries[2..]);
        assert_eq!(left.states().unwrap(), before.states().unwrap()[2..]);
        let whole = left.with_archive(folder.path()).unwrap();
        assert_eq!(whole.entries, before.entries);
        assert_eq!(whole.states().unwrap(), before.states().unwrap());
        assert_eq!(history(&register, "two").removed, [], "it was not there yet");

        let months = Archive::of(&register.store).unwrap().months().unwrap();
        let counts: Vec<_> = months.iter().map(|one| (one.month, one.entries)).collect();
        assert_eq!(counts, [(month(year, 6), 0), (month(year, 7), 0), (month(year, 8), 2)]);
        assert!(months[..2].iter().all(|one| one.archived.as_ref().unwrap().removed_at.is_some()));

        // What is left is held against the record as before.
        let damage = "UPDATE changes SET fields = '{\"email\":[null,\"other@example.com\"]}' \
                      WHERE trainee_key = (SELECT id FROM trainees WHERE trainee_id = 'one')";
        register.second_connection().batch_execute(damage).unwrap();
        assert!(!agrees(&register, None) && !agrees(&register, Some(&folder)));
    }
}

#[test]
fn a_month_stays_while_its_file_is_missing_or_another_one() {
    for year in YEARS {
        let (register, folder) = (register(year), tempfile::tempdir().unwrap());
        let end = month(year, 8);
        archive(&register, end, &folder).unwrap();
        let file = folder.path().join(Kind::History.file_name(month(year, 6)));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("Example", "Exemple").replace("create", "creates")).unwrap();
        let refused = remove(&register, end, &folder).unwrap_err();
        assert!(matches!(&refused, ArchiveError::Differs(path) if *path == file), "{refused:?}");
        fs::remove_file(&file).unwrap();
        let refused = remove(&register, end, &folder).unwrap_err();
        assert!(matches!(&refused, ArchiveError::Missing(path) if *path == file), "{refused:?}");
        assert_eq!(entries(&register), 4);
        // A month whose file is missing is archived again.
        assert_eq!(archive(&register, end, &folder).unwrap().len(), 1);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(remove(&register, end, &folder).unwrap().len(), 2);
        fs::write(&file, "{}\n").unwrap();
        let refused = history(&register, "one").with_archive(folder.path()).unwrap_err();
        assert!(matches!(refused, ArchiveError::Differs(_)), "{refused:?}");
    }
}

#[test]
fn a_month_with_entries_that_are_not_in_its_file_is_archived_again_before_it_is_removed() {
    for year in YEARS {
        let (register, folder) = (register(year), tempfile::tempdir().unwrap());
        let end = month(year, 8);
        archive(&register, end, &folder).unwrap();
        add_entry(&register, &format!("{year}-06-20"));
        let refused = remove(&register, end, &folder).unwrap_err();
        assert!(matches!(refused, ArchiveError::Changed { kind: Kind::History, .. }), "{refused:?}");
        assert_eq!(entries(&register), 5);
        assert_eq!(archive(&register, end, &folder).unwrap(), [Kind::History.file_name(month(year, 6))]);
        assert_eq!(remove(&register, end, &folder).unwrap().len(), 2);
        // What is dated into a removed month stays in the database.
        add_entry(&register, &format!("{year}-06-21"));
        assert_eq!(archive(&register, end, &folder).unwrap(), [""; 0]);
        assert_eq!(remove(&register, end, &folder).unwrap(), [""; 0]);
        assert_eq!(entries(&register), 3);
        assert_eq!(history(&register, "one").with_archive(folder.path()).unwrap().entries.len(), 5);
        assert!(agrees(&register, None) && agrees(&register, Some(&folder)));
    }
}

#[test]
fn what_was_interrupted_is_done_by_the_same_call() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    let (before, end) = (history(&register, "one"), month("2026", 8));
    archive(&register, end, &folder).unwrap();
    // The files have their names, and nothing is recorded.
    register.second_connection().batch_execute("DELETE FROM archived_months").unwrap();
    assert_eq!(archive(&register, end, &folder).unwrap().len(), 2);
    // Another register has archived into the folder.
    register.second_connection().batch_execute("DELETE FROM archived_months").unwrap();
    let file = folder.path().join(Kind::History.file_name(month("2026", 6)));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, "{}\n").unwrap();
    let refused = archive(&register, end, &folder).unwrap_err();
    assert!(matches!(&refused, ArchiveError::Exists(path) if *path == file), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    fs::write(&file, text).unwrap();
    archive(&register, end, &folder).unwrap();

    // A removal has begun, and a part of the entries is gone.
    let removal = "UPDATE archived_months SET removal_begun_at = archived_at WHERE month = '2026-06-01'";
    register.second_connection().batch_execute(removal).unwrap();
    for gone in ["", "DELETE FROM changes WHERE changed_at < '2026-07-01'"] {
        register.second_connection().batch_execute(gone).unwrap();
        assert_eq!(history(&register, "one").with_archive(folder.path()).unwrap().entries, before.entries);
        assert!(agrees(&register, None) && agrees(&register, Some(&folder)));
    }
    assert_eq!(remove(&register, end, &folder).unwrap().len(), 2);
    assert_eq!(entries(&register), 2);
    assert!(fs::read_dir(folder.path()).unwrap().count() == 2, "a draft is left");
}

#[test]
fn a_month_at_which_another_command_is_at_work_stays_as_that_one_records_it() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    archive(&register, month("2026", 8), &folder).unwrap();
    let mut connection = register.second_connection();
    let known = manifest::of_kind(&mut connection, Kind::History).unwrap().remove(0);
    let (named, now, done) = ((known.kind, known.month), known.archived_at, file::Draft::of_digest().done());
    let is_refused = |outcome| matches!(outcome, Err(ArchiveError::Changed { kind: Kind::History, .. }));
    assert!(is_refused(manifest::record(&mut connection, named, None, &done, now).map(|_| ())), "archived meanwhile");
    let mut removed = known.clone();
    manifest::begin_removal(&mut connection, &mut removed, now).unwrap();
    assert!(is_refused(manifest::record(&mut connection, named, Some(&known), &done, now).map(|_| ())), "is removed");
    let mut other = ArchivedMonth { digest: done.digest.clone(), ..known.clone() };
    assert!(is_refused(manifest::replace(&mut connection, &other, &done)));
    assert!(is_refused(manifest::begin_removal(&mut connection, &mut other, now)));
    assert!(is_refused(manifest::end_removal(&mut connection, &mut other, now)));
    assert_eq!(manifest::of_kind(&mut connection, Kind::History).unwrap().remove(0), removed);
}

#[test]
fn a_month_of_which_all_entries_were_erased_is_removed() {
    for (year, is_erased_from_files) in YEARS.into_iter().flat_map(|year| [(year, true), (year, false)]) {
        let (register, folder) = (register(year), tempfile::tempdir().unwrap());
        let end = month(year, 8);
        archive(&register, end, &folder).unwrap();
        let erase = "DELETE FROM changes WHERE trainee_key = (SELECT id FROM trainees WHERE trainee_id = 'one')";
        register.second_connection().batch_execute(erase).unwrap();
        if is_erased_from_files {
            Archive::of(&register.store)
                .unwrap()
                .erase(&["one".to_owned()], folder.path(), ArchiveFiles::AsRecorded)
                .unwrap();
        } else {
            let refused = remove(&register, end, &folder).unwrap_err();
            assert!(matches!(refused, ArchiveError::Changed { kind: Kind::History, .. }), "{refused:?}");
            assert_eq!(archive(&register, end, &folder).unwrap().len(), 2);
        }
        assert_eq!(archive(&register, end, &folder).unwrap(), [""; 0]);
        assert_eq!(remove(&register, end, &folder).unwrap().len(), 2);
        assert_eq!(fs::read_to_string(folder.path().join(Kind::History.file_name(month(year, 6)))).unwrap(), "");
        assert_eq!(entries(&register), 1);
    }
}

#[test]
fn the_entry_of_an_erasure_stays_in_the_files_and_no_folder_is_made() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    let entry = "UPDATE changes SET operation = 'trainee erase', fields = '{}' WHERE changed_at < '2026-07-01'";
    register.second_connection().batch_execute(entry).unwrap();
    archive(&register, month("2026", 8), &folder).unwrap();
    let mut archive = Archive::of(&register.store).unwrap();
    let mistyped = folder.path().join("mistyped");
    let refused = archive.erase(&["one".to_owned()], &mistyped, ArchiveFiles::AsRecorded).unwrap_err();
    assert!(matches!(refused, ArchiveError::Missing(_)) && !mistyped.exists(), "{refused:?}");
    assert_eq!(archive.erase(&["one".to_owned()], folder.path(), ArchiveFiles::AsRecorded).unwrap(), 1, "that of July");
    let text = fs::read_to_string(folder.path().join("history-2026-06.jsonl")).unwrap();
    assert!(text.contains("\"operation\":\"trainee erase\""), "{text}");
}

#[test]
fn a_month_that_is_not_over_is_refused() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    for end in [month("2026", 10), month("2027", 1)] {
        let refused = [archive(&register, end, &folder), remove(&register, end, &folder)];
        assert!(refused.iter().all(|one| matches!(one, Err(ArchiveError::NotOver(_)))), "{refused:?}");
    }
    assert_eq!(archive(&register, month("2026", 9), &folder).unwrap().len(), 3);
}

#[test]
fn months_of_usage_are_archived_and_removed() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    let (token, _) = register.issue_token(crate::testing::NEW_TOKEN).unwrap();
    assert!(register.accepts(&token));
    let add = |date: &str| {
        let (day, version, against) = (date.parse().unwrap(), "v1".to_owned(), "v2".to_owned());
        let check = CheckCount { day, token_id: 1, version, against, checked: 2, valid: 1 };
        let batch = UsageBatch { checks: vec![check], ..UsageBatch::default() };
        register.write(move |session| session.add_usage(&batch)).unwrap();
    };
    ["2026-07-30", "2026-07-31", "2026-08-01"].into_iter().for_each(add);
    let mut archive = Archive::of(&register.store).unwrap();
    let end = month("2026", 8);
    archive.archive(Kind::Usage, end, folder.path(), |month| assert_eq!(month.entries, 2)).unwrap();
    let text = fs::read_to_string(folder.path().join("usage-2026-07.jsonl")).unwrap();
    let expected = "{\"table\":\"shadow_checks\",\"day\":\"2026-07-30\",\"id\":1,\"token_id\":1,\"version\":\"v1\",\
                    \"against\":\"v2\",\"checked\":2,\"valid\":1}\n";
    assert!(text.starts_with(expected), "{text}");
    // The number of rows stays the same.
    add("2026-07-31");
    let refused = archive.remove(Kind::Usage, end, folder.path(), |_| {}).unwrap_err();
    assert!(matches!(refused, ArchiveError::Changed { kind: Kind::Usage, .. }), "{refused:?}");
    let mut again = 0;
    for _ in 0..2 {
        archive.archive(Kind::Usage, end, folder.path(), |_| again += 1).unwrap();
    }
    assert_eq!(again, 1);
    archive.remove(Kind::Usage, end, folder.path(), |_| {}).unwrap();
    assert_eq!(catalog::count(&mut register.second_connection(), "shadow_checks").unwrap(), 1);
}

#[test]
fn the_lines_of_a_trainee_begin_with_its_identifier() {
    let (register, folder) = (register("2026"), tempfile::tempdir().unwrap());
    archive(&register, month("2026", 9), &folder).unwrap();
    let text = fs::read_to_string(folder.path().join("history-2026-08.jsonl")).unwrap();
    let of =
        |id: &str| text.lines().filter(|line| line.starts_with(&line::HistoryLine::beginning(id).unwrap())).count();
    assert_eq!((of("one"), of("two"), of("tw"), text.lines().count()), (1, 1, 0, 2));
}

#[test]
fn the_lines_of_an_erased_trainee_are_removed_from_all_files_also_when_it_was_interrupted() {
    for year in YEARS {
        let (register, folder) = (register(year), TempDir::new().unwrap());
        archive(&register, month(year, 9), &folder).unwrap();
        remove(&register, month(year, 8), &folder).unwrap();
        let path = |number| folder.path().join(Kind::History.file_name(month(year, number)));
        let files = || [6, 7, 8].map(|number| fs::read_to_string(path(number)).unwrap());
        let lines_of = |id: &str| files().map(|text| text.matches(&format!("{{\"trainee_id\":\"{id}\",")).count());
        let erase = || {
            Archive::of(&register.store).unwrap().erase(&["one".to_owned()], folder.path(), ArchiveFiles::AsRecorded)
        };
        let before = files();
        assert_eq!((lines_of("one"), lines_of("two")), ([1, 1, 1], [0, 0, 1]));
        assert_eq!(erase().unwrap(), 3);
        assert_eq!((lines_of("one"), lines_of("two")), ([0, 0, 0], [0, 0, 1]));
        assert_eq!(erase().unwrap(), 0, "there is nothing left to erase");
        // The files are what is recorded of them.
        assert_eq!(history(&register, "two").with_archive(folder.path()).unwrap().entries.len(), 1);

        // As when it was interrupted before the new file got its name.
        let after = files();
        fs::write(path(8), &before[2]).unwrap();
        assert_eq!(erase().unwrap(), 1);
        assert_eq!(files(), after);
        fs::write(path(8), before[2].replace("august", "never")).unwrap();
        assert_eq!(erase().unwrap(), 1, "only lines of the erased trainee differ");
        fs::write(path(8), after[2].replace("two", "six")).unwrap();
        assert!(matches!(erase(), Err(ArchiveError::Differs(_))));
        fs::remove_file(path(8)).unwrap();
        assert!(matches!(erase(), Err(ArchiveError::Missing(_))));
    }
}

#[test]
fn erasing_waits_for_months_that_are_being_recorded() {
    let year = YEARS[0];
    let (register, folder) = (register(year), tempfile::tempdir().unwrap());
    archive(&register, month(year, 8), &folder).unwrap();
    let mut recording = register.second_connection();
    recording
        .batch_execute("CREATE TEMPORARY TABLE recorded AS SELECT * FROM archived_months; DELETE FROM archived_months")
        .unwrap();
    recording.begin(Access::Write).unwrap();
    recording.batch_execute("INSERT INTO archived_months SELECT * FROM recorded").unwrap();
    let mut erasing = Archive::of(&register.store).unwrap();
    let erased = thread::scope(|scope| {
        let erasing =
            scope.spawn(|| erasing.erase(&["one".to_owned()], folder.path(), ArchiveFiles::AsRecorded).unwrap());
        thread::sleep(Duration::from_millis(200));
        recording.commit().unwrap();
        erasing.join().unwrap()
    });
    assert_eq!(erased, 2);
}

#[test]
fn files_without_erased_lines_are_accepted_after_the_restore_of_an_older_backup() {
    let (register, folder) = (register("2026"), TempDir::new().unwrap());
    archive(&register, month("2026", 9), &folder).unwrap();
    let recorded = || manifest::of_kind(&mut register.second_connection(), Kind::History).unwrap();
    let erase = |accepted| Archive::of(&register.store).unwrap().erase(&["one".to_owned()], folder.path(), accepted);
    let before = recorded();
    assert_eq!(erase(ArchiveFiles::AsRecorded).unwrap(), 3);
    let after = recorded();
    let restore = || {
        for (now, older) in recorded().iter().zip(&before) {
            let ArchivedMonth { entries, first_entry, last_entry, bytes, digest, .. } = older.clone();
            let done = file::Done { entries, first_entry, last_entry, bytes, digest };
            manifest::replace(&mut register.second_connection(), now, &done).unwrap();
        }
    };
    restore();
    assert!(matches!(erase(ArchiveFiles::AsRecorded), Err(ArchiveError::Differs(_))));
    assert_eq!(erase(ArchiveFiles::AsRecordedOrShorter).unwrap(), 0);
    assert_eq!(recorded(), after);
    assert_eq!(erase(ArchiveFiles::AsRecorded).unwrap(), 0, "from now on they are what is recorded");
    // A file with other entries is still not what was archived.
    restore();
    let path = folder.path().join(Kind::History.file_name(month("2026", 8)));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.repeat(2)).unwrap();
    assert!(matches!(erase(ArchiveFiles::AsRecordedOrShorter), Err(ArchiveError::Differs(_))));
}
