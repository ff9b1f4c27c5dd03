use std::sync::{Mutex, mpsc};
use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use test_support::Kind;

use super::*;
use crate::testing::{Queued, Register, UKPRN, block_on};

/// Collects what the jobs of one request did.
#[derive(Default)]
struct Collected(Mutex<Vec<Step>>);

impl TraceSink for Collected {
    fn record(&self, steps: Vec<Step>) {
        self.0.lock().unwrap().extend(steps);
    }
}

impl Collected {
    fn take(&self) -> Vec<Step> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// What happened, in words.
    fn words(&self) -> Vec<String> {
        self.take().iter().map(words).collect()
    }
}

fn words(step: &Step) -> String {
    assert!(step.begun <= step.ended);
    let failure = step.failure.map(|failure| format!(" {failure}")).unwrap_or_default();
    match &step.kind {
        StepKind::Wait { queue } => format!("{queue:?}{failure}"),
        StepKind::Run { access, attempt, .. } => format!("{access} {attempt}{failure}"),
        StepKind::Commit { jobs, .. } => format!("commit of {jobs}{failure}"),
    }
}

fn statements(steps: &[Step]) -> Vec<String> {
    let of_runs = steps.iter().flat_map(|step| match &step.kind {
        StepKind::Run { statements, .. } => statements.clone(),
        StepKind::Wait { .. } | StepKind::Commit { .. } => Vec::new(),
    });
    of_runs.map(|statement| statement.sql).collect()
}

fn is_sqlite() -> bool {
    Kind::of_this_run() == Kind::Sqlite
}

/// Runs a traced job, and waits until it has been reported: the writer of SQLite reports it behind its answer.
fn run<T>(register: &Register, sink: &Arc<Collected>, job: impl Future<Output = Result<T, StorageError>>) {
    block_on(traced(sink.clone(), job)).map(drop).unwrap();
    block_on(register.store.drain()).unwrap();
}

#[test]
fn a_job_that_is_run_again_has_a_wait_and_a_run_for_each_attempt() {
    let register = Register::new();
    let collected = Arc::new(Collected::default());
    let mut runs = 0;
    let job = register.store.write(move |session| {
        runs += 1;
        if runs == 1 {
            return Err(StorageError::DateNotDue { wait: Duration::from_millis(2) });
        }
        session.add_provider(UKPRN, "A provider")
    });
    run(&register, &collected, job);
    let mut expected = vec!["Writer", "write 1 date_not_due", "Writer", "write 2"];
    expected.extend(is_sqlite().then_some("commit of 1"));
    assert_eq!(collected.words(), expected);

    if !is_sqlite() {
        let mut runs = 0;
        let job = register.store.write(move |_| {
            runs += 1;
            if runs == 1 { Err(StorageError::Collided) } else { Ok(()) }
        });
        run(&register, &collected, job);
        assert_eq!(collected.words(), ["Writer", "write 1 collided", "Writer", "write 2"]);
    }
}

#[test]
fn write_that_may_share_a_transaction_has_its_commit_or_is_run_again() {
    let register = Register::new();
    let collected = Arc::new(Collected::default());
    run(&register, &collected, register.store.write_in_group(|session| session.add_provider(UKPRN, "A provider")));
    assert_eq!(collected.words(), ["Writer", "write 1", "commit of 1"]);

    if !is_sqlite() {
        let mut runs = 0;
        let job = register.store.write_in_group(move |session| {
            runs += 1;
            session.add_provider("10000002", "Another provider")?;
            if runs == 1 { Err(StorageError::Collided) } else { Ok(()) }
        });
        run(&register, &collected, job);
        assert_eq!(collected.words(), ["Writer", "write 1 group_undone", "Writer", "write 2"]);
    }
}

#[test]
fn statements_are_recorded_without_a_value_and_only_of_traced_jobs() {
    let register = Register::new();
    let collected = Arc::new(Collected::default());
    let add = |ukprn: &'static str| {
        register.store.write(move |session| {
            session.add_provider(ukprn, "Zqxcanary")?;
            session.list_providers().map(drop)
        })
    };
    run(&register, &collected, add(UKPRN));
    let steps = collected.take();
    let sent = statements(&steps);
    assert!(sent.iter().any(|sql| summary(sql) == "INSERT providers"), "{sent:#?}");
    assert!(sent.iter().any(|sql| summary(sql) == "SELECT providers"), "{sent:#?}");
    // On SQLite the commit is that of the group.
    assert_eq!(sent.last().map(String::as_str) == Some("COMMIT"), !is_sqlite(), "{sent:#?}");
    for sql in &sent {
        assert!(!sql.contains("Zqxcanary") && !sql.contains(UKPRN) && !sql.contains("binds"), "{sql}");
        assert!(!sql.starts_with("BEGIN") && !sql.starts_with("SAVEPOINT"), "{sql}");
    }

    // The same connection, without a trace and then with one again.
    block_on(add("10000002")).unwrap();
    block_on(register.store.drain()).unwrap();
    assert!(collected.take().is_empty());
    run(&register, &collected, add("10000003"));
    assert_eq!(statements(&collected.take()), sent);
}

#[test]
fn what_reads_is_recorded_where_it_is_run() {
    let register = Register::with_provider();
    let collected = Arc::new(Collected::default());
    let read = register.store.read(|session| session.list_providers());
    run(&register, &collected, read);
    let steps = collected.take();
    assert_eq!(steps.iter().map(words).collect::<Vec<_>>(), ["Pool", "read 1"]);
    assert_eq!(statements(&steps).iter().map(|sql| summary(sql)).collect::<Vec<_>>(), ["SELECT providers"]);
    // On SQLite it waits for nobody.
    let look_up = register.store.look_up(|session| session.list_providers());
    run(&register, &collected, look_up);
    let expected: &[&str] = if is_sqlite() { &["look_up 1"] } else { &["Pool", "look_up 1"] };
    assert_eq!(collected.words(), expected);
}

#[test]
fn every_job_of_a_group_has_the_commit_that_it_shared() {
    let register = Register::on_sqlite();
    let (release, released) = mpsc::channel();
    let store = register.store.clone();
    let first =
        Queued::new(async move { store.write(move |_| released.recv().map_err(|_| StorageError::Closed)).await });
    let sinks = [Arc::new(Collected::default()), Arc::new(Collected::default())];
    let queued = ["10000002", "10000003"].into_iter().zip(&sinks).map(|(ukprn, sink)| {
        let store = register.store.clone();
        let write = async move { store.write(move |session| session.add_provider(ukprn, "A provider")).await };
        Queued::new(traced(sink.clone(), write))
    });
    let queued: Vec<_> = queued.collect();
    release.send(()).unwrap();
    first.answer().unwrap();
    for write in queued {
        write.answer().unwrap();
    }
    // The one who is answered last knows that all have been.
    let last = register.store.drain();
    block_on(last).unwrap();
    let commits: Vec<_> = sinks.iter().map(|sink| sink.take()).collect();
    for steps in &commits {
        assert_eq!(steps.iter().map(words).collect::<Vec<_>>(), ["Writer", "write 1", "commit of 3"]);
    }
    let times = commits.iter().map(|steps| steps.last().map(|step| (step.begun, step.ended)));
    let times: Vec<_> = times.collect();
    assert_eq!(times[0], times[1]);
}

#[test]
fn a_job_that_gets_no_place_has_a_wait_that_failed() {
    if is_sqlite() {
        return;
    }
    let register = Register::new();
    let options = crate::store::StoreOptions {
        writers: 1,
        place_wait: Duration::from_millis(500),
        ..crate::store::StoreOptions::default()
    };
    let store = crate::store::Store::open(register.url(), options).unwrap();
    // On a busy machine it may take longer to connect.
    while store.write_blocking(|_| Ok::<_, StorageError>(())).is_err() {}
    let collected = Arc::new(Collected::default());
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let holder = store.clone();
    let holding = std::thread::spawn(move || {
        block_on(holder.write(move |_| {
            entered.send(()).map_err(|_| StorageError::Closed)?;
            released.recv().map_err(|_| StorageError::Closed)
        }))
    });
    has_entered.recv().unwrap();
    let refused = block_on(traced(collected.clone(), store.write(|_| Ok::<_, StorageError>(()))));
    assert!(matches!(refused, Err(StorageError::PoolTimeout(_))), "{refused:?}");
    assert_eq!(collected.words(), ["Writer unavailable"]);
    release.send(()).unwrap();
    holding.join().unwrap().unwrap();
}

#[test]
fn whoever_listens_to_a_connection_hears_it_also_after_a_traced_job() {
    if !is_sqlite() {
        return;
    }
    let (register, sink) = (Register::new(), Arc::new(Collected::default()));
    run(&register, &sink, register.store.write(|session| session.add_provider(UKPRN, "An Example").map(drop)));
    // The writer listens for what ends a transaction of SQLite.
    let ended = block_on(register.store.write::<(), StorageError>(|session| {
        session.connection.batch_execute("PRAGMA max_page_count = 1")?;
        let _ = session.add_provider("19999999", &"x".repeat(1_000_000));
        Ok(())
    }));
    assert!(matches!(ended, Err(StorageError::GroupLost(_))), "{ended:?}");
}
