//! What differs between two versions, as an operator asks for it.

use domain::Lists;
use serde_json::Value;
use version_tools::Difference;
use versions::all;

use super::support::Workplace;

#[test]
fn the_difference_between_any_two_versions_is_printed_to_read() {
    let place = Workplace::new();
    for (from, to) in all()
        .iter()
        .flat_map(|from| all().iter().map(move |to| (from, to)))
    {
        let labels = [from.version.label.to_string(), to.version.label.to_string()];
        let ended = place.run(
            &[
                "version",
                "difference",
                "--from",
                &labels[0],
                "--to",
                &labels[1],
            ],
            None,
        );
        assert_eq!((ended.status(), ended.stderr()), (0, ""));
        assert_eq!(
            ended.stdout(),
            Difference::between(from, to, Lists::embedded()).markdown()
        );
    }
}

#[test]
fn the_difference_is_printed_as_json_for_programs() {
    let ended = Workplace::new().run(
        &[
            "version",
            "difference",
            "--from",
            "v2025.0",
            "--to",
            "v2026.1",
            "--output",
            "json",
        ],
        None,
    );
    assert_eq!((ended.status(), ended.stderr()), (0, ""));
    let difference: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(
        (&difference["from"], &difference["to"]),
        (&"v2025.0".into(), &"v2026.1".into())
    );
    let renamed = difference["changes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|change| change["before"] == "lead_partner_urn");
    let renamed = renamed.unwrap();
    assert_eq!(renamed["after"], "training_partner_urn");
    assert_eq!(
        (&renamed["about"], &renamed["change"]),
        (&"field".into(), &"renamed".into())
    );
    assert_eq!(
        (&renamed["effect"], &renamed["breaking"]),
        (&"refused".into(), &true.into())
    );
}

#[test]
fn unknown_version_is_answered_with_the_existing_versions() {
    let place = Workplace::new();
    for pair in [["v1999.0", "v2026.1"], ["v2026.1", "v1999.0"]] {
        let ended = place.run(
            &["version", "difference", "--from", pair[0], "--to", pair[1]],
            None,
        );
        assert_eq!((ended.status(), ended.stdout()), (1, ""));
        for told in ["v1999.0", "v2025.0", "v2026.0", "v2026.1"] {
            assert!(
                ended.stderr().contains(told),
                "{told} in {}",
                ended.stderr()
            );
        }
    }
}

#[test]
fn reader_that_stops_early_ends_the_command_silently() {
    let newest = all().newest().unwrap().version.label.to_string();
    for arguments in [
        &["version", "openapi", &newest][..],
        &["provider", "list"],
        &["check"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = Workplace::migrated()
            .command(arguments, None)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(
            (
                ended.status.code(),
                String::from_utf8(ended.stderr).unwrap().as_str()
            ),
            (Some(141), "")
        );
    }
}
