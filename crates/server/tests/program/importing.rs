//! Schools and training partners from files.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::support::{Workplace, example, path};

const HEADER: &str = "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n";

/// Schools of the import beside a server.
const SCHOOLS: usize = 5_000;
/// Clients that write during the import.
const CLIENTS: usize = 4;

/// What a command prints about a file: numbers of rows, and a line for each refused row.
fn report(counts: [usize; 4], refused: &str) -> String {
    let [added, changed, unchanged, rejected] = counts;
    format!(
        "added      {added}\nchanged    {changed}\nunchanged  {unchanged}\nrefused    {rejected}\n{refused}"
    )
}

#[test]
fn bad_rows_are_named_and_others_imported() {
    let place = Workplace::migrated();
    place.write(
        "schools.csv",
        format!("{HEADER}100000,Ash,ZZ1 1AA,Open\n10000,Beech,,Open\n100001,,,Open\n100002,Cedar,,Closed\n100000,Ash,,Open\n"),
    );
    let refused = "line 3: URN must be 6 digits\nline 4: EstablishmentName is blank\nline 6: 100000 is already on line 2\n";
    for counts in [[2, 0, 0, 3], [0, 0, 2, 3]] {
        let imported = place.run("school import schools.csv");
        imported.prints(1, &report(counts, refused));
    }
    let unclosed = format!("{HEADER}100000,\"Ash,,Open\n100001,Beech,,Open\n100002,Cedar,,Open\n");
    place.write("schools.csv", unclosed);
    let told = "rows refused: 1; a quote in line 2 is never closed, so later rows were not read";
    place.run("school import schools.csv").ends(1, &[told]);
}

#[test]
fn partners_are_imported_and_other_files_rejected() {
    let place = Workplace::migrated();
    let partners = b"URN,UKPRN,Name\r\n100000,,St Zo\xeb\r\n,10000001,Ash\r\n";
    place.write("partners.csv", partners);
    let imported = place.run("partner import partners.csv");
    imported.prints(0, &report([2, 0, 0, 0], ""));
    place.write("empty.csv", "");
    place.write("archive.csv", b"PK\x03\x04\x14\0");
    for (line, expected) in [
        (
            "school import partners.csv",
            "missing: \"EstablishmentName\"",
        ),
        ("school import absent.csv", "absent.csv"),
        ("school import absent.csv", "No such file"),
        ("school import .", "directory"),
        ("partner import empty.csv", "The file is empty."),
        ("partner import archive.csv", "save it as CSV UTF-8"),
    ] {
        let refused = place.run(line);
        refused.refuses(&[expected]);
        assert_eq!(refused.stderr().matches(expected).count(), 1);
    }
}

#[test]
fn file_without_rows_is_reported() {
    let place = Workplace::migrated();
    let said = "the file has no rows below the header row\n";
    place.write("schools.csv", HEADER);
    let imported = place.run("school import schools.csv");
    imported.prints(0, &report([0; 4], said));
    let awarded = place.apply("award", "trainee_id\r,\r\n", "");
    awarded.prints(
        0,
        &format!("done       0\nunchanged  0\nrefused    0\n{said}"),
    );
    let header = "trainee_id,provider,erased_at,by,ground,entries_removed\n,,,,,\n";
    place.write("erasures.csv", header);
    place
        .run("trainee erase --again erasures.csv")
        .prints(0, said);
}

#[test]
fn partner_with_ukprn_of_another_is_refused() {
    let place = Workplace::migrated();
    let import = |rows: &str| {
        place.write("partners.csv", format!("URN,UKPRN,Name\n{rows}"));
        place.run("partner import partners.csv")
    };
    import("100000,10000001,Ash\n,10000002,Beech\n").done();
    let refused = import(
        "100001,10000001,Cedar\n100002,10000002,Damson\n,10000001,Elm\n100003,10000003,Fir\n",
    );
    let problems = "line 2: another training partner has the UKPRN 10000001\n\
                    line 3: another training partner has the UKPRN 10000002\n\
                    line 4: 10000001 is already on line 2\n";
    refused.prints(1, &report([1, 0, 0, 3], problems));
    // The stored report has no values.
    let stored = place.texts("SELECT refused_rows AS text FROM imports WHERE id = 2");
    assert!(
        stored[0].contains("another training partner has the UKPRN")
            && !stored[0].contains("10000001"),
        "{stored:?}"
    );
    // A partner that gives up its UKPRN in a row leaves it to the rows behind.
    let moved = import("100000,,Ash\n100001,10000001,Cedar\n");
    moved.prints(0, &report([1, 1, 0, 0], ""));
}

#[test]
fn server_loses_no_request_during_an_import() {
    let place = Workplace::new();
    let server = place.serve("");
    let mut text = HEADER.to_owned();
    (0..SCHOOLS).for_each(|number| {
        writeln!(text, "{},School {number},ZZ1 1AA,Open", 100_000 + number).unwrap();
    });
    place.write("schools.csv", text);
    let imported = AtomicBool::new(false);
    let write = |client: usize| {
        let mut written = 0;
        // One more after the import, so that each client has written beside it and behind it.
        loop {
            let last = imported.load(Ordering::SeqCst);
            let digits = format!("{written:04}");
            let letters = digits.bytes().map(|digit| char::from(digit + 49));
            let mut body = example(&format!("Example{}", letters.collect::<String>()));
            body["data"]["first_names"] =
                format!("Client {}", ["Ann", "Bea", "Cleo", "Dora"][client]).into();
            body["data"]["email"] = format!("trainee.{client}.{written}@example.com").into();
            body["data"]["provider_trainee_id"] = format!("P-{client}-{written}").into();
            let (status, reply) = server.send("POST", &path("/trainees"), Some(&body));
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
        let import = place.run("school import schools.csv");
        imported.store(true, Ordering::SeqCst);
        let printed = import.done();
        assert!(
            printed.starts_with(&format!("added      {SCHOOLS}\n")),
            "{printed}"
        );
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .sum()
    });
    assert!(written > CLIENTS, "{written}");
    eprintln!("{written} trainees were registered during the import");
}
