//! A SQLite file that is deleted, moved or replaced under a running server, the start after it, and
//! folders that do not exist.

use std::fs;
use std::path::Path;

use domain::TraineeField;
use serde_json::Value;
use server::sandbox::demo;

use super::observing::server::{Answer, Watched};
use super::support::running::Running;
use super::support::{Ended, Workplace};

/// A server over a database in the folder `data` of a workplace.
fn serve(place: &Workplace) -> Watched {
    fs::create_dir_all(place.path("data")).unwrap();
    let mut command = place.command(&["serve"], None);
    command.env("REGISTER_DATABASE_URL", url(place));
    Watched::start(command)
}

fn url(place: &Workplace) -> String {
    format!("sqlite://{}", place.path("data/register.db").display())
}

/// Stops a server in good order.
fn stop(server: Running) {
    server.signal("TERM");
    assert!(server.wait().success());
}

/// Sends a trainee whose last name is this one.
fn register(server: &Watched, last_name: &str) -> Answer {
    let version = versions::all().newest().unwrap().version;
    let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    body["data"][version
        .shapes
        .trainee
        .name_of(TraineeField::last_name)
        .unwrap()] = last_name.into();
    let path = format!("/api/{}/trainees", version.label);
    server.send_body(
        "POST",
        &path,
        &["Content-Type: application/json"],
        &body.to_string(),
    )
}

fn list(server: &Watched) -> u16 {
    let path = format!(
        "/api/{}/trainees",
        versions::all().newest().unwrap().version.label
    );
    server.send_body("GET", &path, &[], "").status
}

/// Whether writes are kept, as the server says and as it does.
#[track_caller]
fn require_writes(server: &Watched, last_name: &str, are_kept: bool) {
    let (health, created) = if are_kept { (200, 201) } else { (503, 503) };
    let answer = register(server, last_name);
    assert_eq!(answer.status, created, "{}", answer.body);
    assert_eq!(answer.header("retry-after").is_some(), !are_kept);
    for path in ["/health/ready", "/health/writable"] {
        let answer = server.ask(path);
        assert_eq!(answer.status, health, "{path}: {}", answer.body);
        assert!(
            are_kept || answer.json()["reason"] == "database",
            "{}",
            answer.body
        );
    }
    // Reads go on: a client may be told the wrong thing only by a write that is lost.
    assert_eq!(list(server), 200);
}

/// Takes a file or a folder away, by its name; what is done is undone by the one that is returned.
fn take_away(place: &Workplace, how: &str) -> Option<impl FnOnce() + use<>> {
    let (file, moved) = (place.path("data/register.db"), place.path("moved"));
    let back = |from: &Path, to: &Path| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move || fs::rename(from, to).unwrap()
    };
    match how {
        "deleted" => {
            fs::remove_file(&file).unwrap();
            None
        }
        "log deleted" => {
            fs::remove_file(place.path("data/register.db-wal")).unwrap();
            None
        }
        "moved" => {
            fs::rename(&file, &moved).unwrap();
            Some(back(&moved, &file))
        }
        "replaced" => {
            fs::rename(&file, &moved).unwrap();
            fs::copy(&moved, &file).unwrap();
            Some(back(&moved, &file))
        }
        "folder moved" => {
            fs::rename(place.path("data"), &moved).unwrap();
            Some(back(&moved, &place.path("data")))
        }
        _ => panic!("{how}"),
    }
}

#[test]
fn server_rejects_writes_while_its_sqlite_file_is_lost() {
    for how in [
        "deleted",
        "log deleted",
        "moved",
        "replaced",
        "folder moved",
    ] {
        let place = Workplace::on_sqlite();
        let server = serve(&place);
        require_writes(&server, "First", true);
        let put_back = take_away(&place, how);
        require_writes(&server, "Second", false);
        let said = server.line(|line| line["level"] == "ERROR");
        let said = said["message"].as_str().unwrap();
        assert!(
            said.contains("was deleted, moved or replaced") && said.contains("restore a backup"),
            "{how}: {said}"
        );
        if let Some(put_back) = put_back {
            put_back();
            require_writes(&server, "Second", true);
        }
    }
}

#[test]
fn server_is_not_started_where_its_database_is_gone() {
    let place = Workplace::on_sqlite();
    let run = |arguments: &[&str], file: Option<&Path>| {
        let mut command = place.command(arguments, file);
        command.env("REGISTER_DATABASE_URL", url(&place));
        Ended(command.output().unwrap())
    };
    let server = serve(&place);
    assert_eq!(register(&server, "First").status, 201);
    let backup = place.path("backup.db");
    assert_eq!(run(&["backup"], Some(&backup)).status(), 0);
    fs::remove_file(place.path("data/register.db")).unwrap();
    let held = run(&["restore"], Some(&backup));
    assert!(
        held.status() == 1 && held.stderr().contains("is in use"),
        "{}",
        held.stderr()
    );
    drop(server);
    let marker = place.path("data/register.db.marker");
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["migrate", "--check"],
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        &["provider", "list"],
        &["check"],
    ] {
        let refused = run(arguments, None);
        assert_eq!(
            (refused.status(), refused.stderr().lines().count()),
            (1, 1),
            "{}",
            refused.stderr()
        );
        for text in [
            "register.db is gone",
            marker.to_str().unwrap(),
            "trainee-register restore",
        ] {
            assert!(
                refused.stderr().contains(text),
                "{text}: {}",
                refused.stderr()
            );
        }
        assert!(!place.path("data/register.db").exists(), "{arguments:?}");
    }
    // Another register is not copied over it unnoticed.
    let other = Workplace::on_sqlite();
    assert_eq!(other.run(&["migrate"], None).status(), 0);
    let copied = other.run(
        &["copy", "--from", &other.url(), "--to", &url(&place)],
        None,
    );
    assert!(
        copied.status() == 1 && copied.stderr().contains("register.db is gone"),
        "{}",
        copied.stderr()
    );

    let restored = run(&["restore"], Some(&backup));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    // What was erased since the backup is not known.
    assert!(
        restored
            .stderr()
            .contains("cannot read the erasures of the replaced database"),
        "{}",
        restored.stderr()
    );
    let server = serve(&place);
    assert_eq!(
        (
            register(&server, "First").status,
            register(&server, "Second").status
        ),
        (409, 201)
    );
    drop(server);

    for name in ["", "-wal", "-shm", ".marker"] {
        let _ = fs::remove_file(place.path(&format!("data/register.db{name}")));
    }
    let server = serve(&place);
    assert_eq!(register(&server, "First").status, 201);
}

#[test]
fn every_command_that_creates_a_database_leaves_a_marker() {
    let source = Workplace::on_sqlite();
    assert_eq!(source.run(&["migrate"], None).status(), 0);
    let backup = source.path("backup.db");
    assert_eq!(source.run(&["backup"], Some(&backup)).status(), 0);
    assert!(source.path("register.db.marker").exists());
    assert!(!source.path("backup.db.marker").exists());
    let created = |create: &dyn Fn(&Workplace)| {
        let place = Workplace::on_sqlite();
        create(&place);
        let names = fs::read_dir(place.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| !name.contains("-wal") && !name.contains("-shm"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["register.db", "register.db.marker"]);
    };
    let run = |place: &Workplace, arguments: &[&str]| {
        let ended = place.run(arguments, None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
    };
    created(&|place| {
        run(
            place,
            &[
                "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
            ],
        )
    });
    created(&|place| run(place, &["restore", backup.to_str().unwrap()]));
    created(&|place| {
        run(
            place,
            &["copy", "--from", &source.url(), "--to", &place.url()],
        )
    });
    created(&|place| stop(Running::start(place, &[])));
    // A database that is older than markers gets one as soon as it is served.
    let place = Workplace::on_sqlite();
    run(&place, &["migrate"]);
    fs::remove_file(place.path("register.db.marker")).unwrap();
    stop(Running::start(&place, &[]));
    assert!(place.path("register.db.marker").exists());
}

#[test]
fn server_with_a_lost_database_stops_on_a_signal() {
    let place = Workplace::on_sqlite();
    let added = place.run(
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        None,
    );
    assert_eq!(added.status(), 0, "{}", added.stderr());
    let server = Running::start(&place, &[]);
    fs::rename(place.path("register.db"), place.path("moved.db")).unwrap();
    stop(server);
    // What the server had written is in the file under its new name.
    fs::rename(place.path("moved.db"), place.path("register.db")).unwrap();
    assert_eq!(place.run(&["check"], None).status(), 0);
    let listed = place.run(&["provider", "list"], None);
    assert!(listed.stdout().contains("Ashdown"), "{}", listed.stdout());
}

#[test]
fn deleted_database_is_saved_from_the_servers_open_files() {
    let place = Workplace::on_sqlite();
    let added = place.run(
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        None,
    );
    assert_eq!(added.status(), 0, "{}", added.stderr());
    let server = Running::start(&place, &[]);
    let names = ["register.db", "register.db-wal"];
    names
        .iter()
        .for_each(|name| fs::remove_file(place.path(name)).unwrap());
    let open = format!("/proc/{}/fd", server.process_id());
    for name in names {
        let lost = format!("{} (deleted)", place.path(name).display());
        let is_lost = |file: &Path| fs::read_link(file).is_ok_and(|to| to == Path::new(&lost));
        let file = fs::read_dir(&open)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|file| is_lost(file));
        fs::copy(file.unwrap(), place.path(&format!("rescued-{name}"))).unwrap();
    }
    stop(server);
    for name in names {
        fs::rename(place.path(&format!("rescued-{name}")), place.path(name)).unwrap();
    }
    assert_eq!(place.run(&["check"], None).status(), 0);
    let listed = place.run(&["provider", "list"], None);
    assert!(listed.stdout().contains("Ashdown"), "{}", listed.stdout());
}

#[test]
fn folder_of_a_file_to_write_is_not_made() {
    let place = Workplace::migrated();
    let absent = place.path("absent");
    let in_absent = |name: &str| absent.join(name).display().to_string();
    let mut cases = vec![
        vec![
            "reference-data".to_owned(),
            "export".to_owned(),
            in_absent("lists"),
        ],
        vec![
            "migrate".to_owned(),
            "--database-url".to_owned(),
            format!("sqlite://{}", in_absent("data/register.db")),
        ],
    ];
    if place.url().starts_with("sqlite://") {
        cases.push(vec!["backup".to_owned(), in_absent("backup.db")]);
        let backup = place.path("backup.db");
        assert_eq!(place.run(&["backup"], Some(&backup)).status(), 0);
        let to = format!("sqlite://{}", in_absent("data/register.db"));
        cases.push(vec![
            "restore".to_owned(),
            backup.display().to_string(),
            "--database-url".to_owned(),
            to,
        ]);
    }
    for arguments in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let refused = place.run(&arguments, None);
        assert_eq!(
            (refused.status(), refused.stdout()),
            (1, ""),
            "{arguments:?}: {}",
            refused.stderr()
        );
        assert!(
            refused.stderr().contains("absent"),
            "{arguments:?}: {}",
            refused.stderr()
        );
        assert!(!absent.exists(), "{arguments:?}");
    }
    // A folder that is itself what is to be made is, in one that exists.
    let folder = place.path("lists");
    let made = place.run(&["reference-data", "export"], Some(&folder));
    assert_eq!(made.status(), 0, "{}", made.stderr());
    assert!(fs::read_dir(&folder).unwrap().count() > 0);
}
