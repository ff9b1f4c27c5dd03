//! `trainee-sync` pushes a file of trainees and pulls a copy while it and the server are killed
//! again and again: in the end the copy is the register, and the register is the file, without
//! anybody twice.

mod program;
mod trainee_file;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use adapter_kit::Label;
use domain::listing::MAX_PER_PAGE;
use domain::values::academic_year;
use fixtures::random::Random;
use serde_json::Value;
use test_support::texts;

use super::crash::check;
use super::deployment::Site;
use super::http::{Caller, Request};
use super::size::{seed, size};
use super::version_requests::{begun_on, id};
use program::{Kills, SyncRuns};
use trainee_file::TraineeFile;

/// Changes per reply at the start of a copy: few, so that there are many points for a kill.
const PAGE_SIZE: &str = "20";

/// Trainees by their identifiers, each as it is shown.
type Trainees = BTreeMap<String, String>;

#[test]
fn copy_and_register_survive_kills() {
    let (trainees, kills) = (size("SYNC_TRAINEES", 400), size("SYNC_KILLS", 3));
    let (seed, begun) = (seed(), Instant::now());
    let newest = versions::all().newest().unwrap().version;
    let folder = tempfile::tempdir().unwrap();
    let [csv_copy, file] = ["copy", "intake.csv"].map(|name| folder.path().join(name));
    let mut runs = SyncRuns::new(Site::new(), newest.label, Random::new(seed));
    let of_csv = ["--csv", csv_copy.to_str().unwrap()];
    let push = [&["push", file.to_str().unwrap()], &of_csv[..]].concat();

    let mut intake = TraineeFile::new(newest, trainees);
    intake.write(&file);
    let mut left = Kills {
        program: kills,
        server: kills,
    };
    let mut share = left.share(2, 5);
    runs.run("push of new trainees", &push, &mut share);
    left.give_back(share);
    runs.require_no_changes(&push, trainees);

    intake.change();
    intake.write(&file);
    let mut share = left.share(1, 2);
    runs.run("push of changes", &push, &mut share);
    left.give_back(share);
    runs.require_no_changes(&push, trainees);

    // Some runs end before a kill.
    let mut copies = vec![csv_copy.join("trainee-sync.db")];
    while copies.len() == 1 || !left.is_over() {
        let copy = folder.path().join(format!("copy{}.db", copies.len()));
        runs.run(
            "pull of a new copy",
            &[
                "pull",
                "--page-size",
                PAGE_SIZE,
                "--sqlite",
                copy.to_str().unwrap(),
            ],
            &mut left,
        );
        copies.push(copy);
    }
    // What was committed last may be shown a little later.
    runs.run(
        "pull of what is new",
        &["pull", of_csv[0], of_csv[1]],
        &mut left,
    );

    let register = in_register(&runs, newest.label);
    assert_eq!(
        register.len(),
        trainees,
        "a trainee is there twice, or was lost"
    );
    intake.require_registered(&register);
    for copy in copies {
        assert!(
            in_copy(&copy) == register,
            "{} differs from the register",
            copy.display()
        );
    }
    let lines = std::fs::read_to_string(csv_copy.join("trainees.csv"))
        .unwrap()
        .lines()
        .count();
    assert_eq!(lines, trainees + 1);
    require_private(folder.path());
    let site = runs.stop();
    check(&site);
    eprintln!(
        "{:?}: {trainees} trainees, {:.1} s",
        site.kind(),
        begun.elapsed().as_secs_f64()
    );
}

/// What the register shows in its list.
fn in_register(runs: &SyncRuns, label: Label) -> Trainees {
    let (caller, cycle) = (
        Caller::new(&runs.site.token),
        academic_year::starting_year(begun_on()),
    );
    let list = format!(
        "/api/{label}/trainees?academic_cycle={cycle}&per_page={MAX_PER_PAGE}&include=placements,degrees"
    );
    let (mut shown, mut next) = (Trainees::new(), Some(list));
    while let Some(path) = next {
        let reply = caller.ask(runs.address(), &Request::get(path));
        assert_eq!(reply.status, 200, "{reply:?}");
        for record in reply.json()["data"].as_array().unwrap() {
            assert_eq!(
                shown.insert(id(record).to_owned(), record.to_string()),
                None,
                "shown twice"
            );
        }
        next = reply.linked("next").map(str::to_owned);
    }
    shown
}

/// What a copy has.
fn in_copy(database: &Path) -> Trainees {
    let rows = texts(
        &format!("sqlite://{}", database.display()),
        "SELECT json_array(trainee_id, json(record)) AS text FROM sync_records",
    );
    let parsed = |row: String| {
        let (id, record): (String, Value) = serde_json::from_str(&row).unwrap();
        (id, record.to_string())
    };
    rows.into_iter().map(parsed).collect()
}

/// What the program wrote can be read by its owner alone.
fn require_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let is_ours = entry.file_name() != "intake.csv";
        let mode = entry.metadata().unwrap().permissions().mode();
        assert!(
            !is_ours || mode & 0o077 == 0,
            "{entry:?} has the mode {mode:o}"
        );
        if entry.file_type().unwrap().is_dir() {
            require_private(&entry.path());
        }
    }
}
