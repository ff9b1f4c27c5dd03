//! Schools and training partners from files.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use server::sandbox::demo;

use super::support::{Workplace, agent, texts};

const HEADER: &str = "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n";

/// Schools of the import beside a server.
const SCHOOLS: usize = 5_000;
/// Clients that write during the import.
const CLIENTS: usize = 4;

#[test]
fn bad_rows_are_named_by_line_and_others_are_imported() {
    let place = Workplace::migrated();
    let file = place.write(
        "schools.csv",
        format!("{HEADER}100000,Ash,ZZ1 1AA,Open\n10000,Beech,,Open\n100001,,,Open\n100002,Cedar,,Closed\n100000,Ash,,Open\n"),
    );
    let first = place.run(&["school", "import"], Some(&file));
    assert_eq!(first.status(), 1, "{}", first.stderr());
    let refused = "line 3: URN must be 6 digits\nline 4: EstablishmentName is blank\nline 6: 100000 is already on line 2\n";
    assert_eq!(
        first.stdout(),
        format!("added      2\nchanged    0\nunchanged  0\nrefused    3\n{refused}")
    );
    let second = place.run(&["school", "import"], Some(&file));
    assert_eq!(
        second.stdout(),
        format!("added      0\nchanged    0\nunchanged  2\nrefused    3\n{refused}")
    );
}

#[test]
fn training_partners_are_imported_and_other_files_rejected_entirely() {
    let place = Workplace::migrated();
    let file = place.write(
        "partners.csv",
        b"URN,UKPRN,Name\r\n100000,,St Zo\xeb\r\n,10000001,Ash\r\n",
    );
    let imported = place.run(&["partner", "import"], Some(&file));
    assert_eq!(
        (imported.status(), imported.stdout()),
        (
            0,
            "added      2\nchanged    0\nunchanged  0\nrefused    0\n"
        )
    );
    let refused = place.run(&["school", "import"], Some(&file));
    assert_eq!((refused.status(), refused.stdout()), (1, ""));
    assert!(
        refused.stderr().contains("missing: \"EstablishmentName\""),
        "{}",
        refused.stderr()
    );
    let absent = place.run(&["school", "import"], Some(&place.path("absent.csv")));
    assert!(
        absent.status() == 1 && absent.stderr().contains("absent.csv"),
        "{}",
        absent.stderr()
    );
    assert_eq!(
        absent.stderr().matches("No such file").count(),
        1,
        "{}",
        absent.stderr()
    );
    let folder = place.run(&["school", "import"], Some(&place.path("")));
    assert_eq!(
        folder.stderr().matches("directory").count(),
        1,
        "{}",
        folder.stderr()
    );
    for (file, expected) in [
        (&b""[..], "The file is empty."),
        (b"PK\x03\x04\x14\0", "save it as CSV UTF-8"),
    ] {
        let refused = place.run(
            &["partner", "import"],
            Some(&place.write("other.csv", file)),
        );
        assert!(
            refused.status() == 1 && refused.stderr().contains(expected),
            "{}",
            refused.stderr()
        );
    }
}

#[test]
fn file_with_a_header_and_no_rows_says_so() {
    let place = Workplace::migrated();
    let said = "the file has no rows below the header row\n";
    let file = place.write("schools.csv", HEADER);
    let imported = place.run(&["school", "import"], Some(&file));
    let expected = format!("added      0\nchanged    0\nunchanged  0\nrefused    0\n{said}");
    assert_eq!(
        (imported.status(), imported.stdout()),
        (0, &*expected),
        "{}",
        imported.stderr()
    );
    let file = place.write("awards.csv", "trainee_id\r,\r\n");
    let awarded = place.run(&["registry", "apply", "award"], Some(&file));
    let expected = format!("done       0\nunchanged  0\nrefused    0\n{said}");
    assert_eq!(
        (awarded.status(), awarded.stdout()),
        (0, &*expected),
        "{}",
        awarded.stderr()
    );
    let file = place.write(
        "erasures.csv",
        "trainee_id,provider,erased_at,by,ground,entries_removed\n,,,,,\n",
    );
    let erased = place.run(&["trainee", "erase", "--again"], Some(&file));
    assert_eq!(
        (erased.status(), erased.stdout()),
        (0, said),
        "{}",
        erased.stderr()
    );
}

#[test]
fn partner_with_the_ukprn_of_another_one_is_refused() {
    let place = Workplace::migrated();
    let import = |rows: &str| {
        let file = place.write("partners.csv", format!("URN,UKPRN,Name\n{rows}"));
        place.run(&["partner", "import"], Some(&file))
    };
    assert_eq!(import("100000,10000001,Ash\n,10000002,Beech\n").status(), 0);
    let refused = import(
        "100001,10000001,Cedar\n100002,10000002,Damson\n,10000001,Elm\n100003,10000003,Fir\n",
    );
    let taken = |line: u32, ukprn: &str| {
        format!("line {line}: another training partner has the UKPRN {ukprn}\n")
    };
    let problems = [
        taken(2, "10000001"),
        taken(3, "10000002"),
        "line 4: 10000001 is already on line 2\n".to_owned(),
    ];
    let expected = format!(
        "added      1\nchanged    0\nunchanged  0\nrefused    3\n{}",
        problems.concat()
    );
    assert_eq!((refused.status(), refused.stdout()), (1, &*expected));
    // The stored report has no values.
    let stored = texts(
        &place.url(),
        "SELECT refused_rows AS text FROM imports WHERE id = 2",
    )
    .remove(0);
    assert!(
        stored.contains("another training partner has the UKPRN") && !stored.contains("10000001"),
        "{stored}"
    );
    // A partner that gives up its UKPRN in a row leaves it to the rows behind.
    let moved = import("100000,,Ash\n100001,10000001,Cedar\n");
    assert_eq!(
        (moved.status(), moved.stdout()),
        (
            0,
            "added      1\nchanged    1\nunchanged  0\nrefused    0\n"
        )
    );
}

#[test]
fn file_with_an_unclosed_quote_is_not_reported_as_imported() {
    let place = Workplace::migrated();
    let file = place.write(
        "schools.csv",
        format!("{HEADER}100000,\"Ash,,Open\n100001,Beech,,Open\n100002,Cedar,,Open\n"),
    );
    let imported = place.run(&["school", "import"], Some(&file));
    assert_eq!(imported.status(), 1);
    let expected =
        "rows refused: 1; a quote in line 2 is never closed, so later rows were not read";
    assert!(
        imported.stderr().contains(expected),
        "{}",
        imported.stderr()
    );
}

#[test]
fn server_loses_no_request_during_an_import() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let version = versions::all().newest().unwrap().version;
    let mut text = HEADER.to_owned();
    (0..SCHOOLS).for_each(|number| {
        writeln!(text, "{},School {number},ZZ1 1AA,Open", 100_000 + number).unwrap()
    });
    let file = place.write("schools.csv", text);
    let imported = AtomicBool::new(false);
    let write = |client: usize| {
        let agent = agent();
        let path = format!("/api/{}/trainees", version.label);
        let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
        let mut written = 0;
        // One more after the import, so that each client has written beside it and behind it.
        loop {
            let last = imported.load(Ordering::SeqCst);
            let letters = |number: usize| {
                format!("{number:04}")
                    .bytes()
                    .map(|digit| char::from(digit + 49))
                    .collect()
            };
            let name: String = letters(written);
            body["data"]["last_name"] = format!("Example{name}").into();
            body["data"]["first_names"] =
                format!("Client {}", ["Ann", "Bea", "Cleo", "Dora"][client]).into();
            body["data"]["email"] = format!("trainee.{client}.{written}@example.com").into();
            body["data"]["provider_trainee_id"] = format!("P-{client}-{written}").into();
            let (status, reply) = server.send(&agent, "POST", &path, Some(&body));
            assert_eq!(status, 201, "{reply}");
            written += 1;
            if last {
                return written;
            }
        }
    };
    let written: usize = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || write(client)))
            .collect();
        let report = place.run(&["school", "import"], Some(&file));
        imported.store(true, Ordering::SeqCst);
        assert_eq!(report.status(), 0, "{}", report.stderr());
        assert!(
            report
                .stdout()
                .starts_with(&format!("added      {SCHOOLS}\n")),
            "{}",
            report.stdout()
        );
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    assert!(written > CLIENTS, "{written}");
    eprintln!("{written} trainees were registered during the import");
}
