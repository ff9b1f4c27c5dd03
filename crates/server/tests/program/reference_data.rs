//! Code lists from files.

use adapter_kit::Wire;
use adapter_kit::reference::AllLists;
use domain::Lists;

use super::support::{Workplace, agent};

#[test]
fn exported_reference_data_is_unchanged_when_served_again() {
    let place = Workplace::new();
    let folder = place.path("lists");
    let exported = place.run(&["reference-data", "export"], Some(&folder));
    assert_eq!(exported.status(), 0, "{}", exported.stderr());
    let again = place.run(&["reference-data", "export"], Some(&folder));
    assert!(
        again.status() == 1
            && again
                .stderr()
                .contains(".csv already exists and is not overwritten: choose another folder"),
        "{}",
        again.stderr()
    );

    let path = format!(
        "/api/{}/reference-data",
        versions::all().newest().unwrap().version.label
    );
    let server = place.serve(&["--reference-data"], Some(&folder));
    let (status, lists) = server.send(&agent(), "GET", &path, None);
    assert_eq!(status, 200);
    assert_eq!(
        lists,
        serde_json::to_value(AllLists(Lists::embedded(), &Wire::COMMON)).unwrap()
    );
    drop(server);

    // A code of the operator's own, in one file beside nothing else.
    let folder = place.path("own");
    std::fs::create_dir(&folder).unwrap();
    place.write(
        "own/training_initiative.csv",
        "code,name\n777,Teach on the Moon\n",
    );
    let server = place.serve(&["--reference-data"], Some(&folder));
    let (_, list) = server.send(
        &agent(),
        "GET",
        &format!("{path}?field=training_initiative"),
        None,
    );
    assert_eq!(list["entries"][0]["display_name"], "Teach on the Moon");
    assert_eq!(list["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_sandbox_is_filled_with_the_codes_of_short_lists() {
    let place = Workplace::new();
    let folder = place.path("lists");
    std::fs::create_dir(&folder).unwrap();
    let reasons = "code,name,trigger,requires_another_reason,requires_safeguarding_concern_reasons\n\
                   left,Left,provider,false,false\nmoved,Moved,trainee,true,false\n";
    place.write("lists/withdrawal_reason.csv", reasons);
    place.write("lists/sex.csv", "code,name\n77,Not asked\n");
    for command in [
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ][..],
        &[
            "sandbox",
            "seed",
            "--provider",
            "10000001",
            "--trainees",
            "200",
            "--reference-data",
        ],
        &["check", "--reference-data"],
    ] {
        let path = command.ends_with(&["--reference-data"]).then_some(&*folder);
        let ended = place.run(command, path);
        assert_eq!(
            ended.status(),
            0,
            "{command:?}: {}{}",
            ended.stdout(),
            ended.stderr()
        );
    }
}

#[test]
fn malformed_list_stops_the_start_with_file_and_line() {
    let place = Workplace::new();
    let folder = place.path("lists");
    std::fs::create_dir(&folder).unwrap();
    for (name, text, expected) in [
        (
            "sex.csv",
            "code,name\n10,Female\n10,Male\n",
            "sex.csv, line 3: code 10 is there already",
        ),
        (
            "sex.csv",
            "code\n10\n",
            "sex.csv, line 1: column name is missing",
        ),
        (
            "sects.csv",
            "code,name\n10,Female\n",
            "sects.csv: no list has this name",
        ),
    ] {
        let path = place.write(&format!("lists/{name}"), text);
        let ended = place.run(
            &["serve", "--listen", "127.0.0.1:0", "--reference-data"],
            Some(&folder),
        );
        assert_eq!(ended.status(), 1);
        assert!(ended.stderr().contains(expected), "{}", ended.stderr());
        std::fs::remove_file(path).unwrap();
    }
}
