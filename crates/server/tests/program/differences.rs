//! What differs between two versions, as an operator asks for it.

use adapter_kit::Label;
use serde_json::Value;
use versions::all;

use super::support::{Workplace, agent};

/// Returns the number of breaking changes that a text states.
fn breaking_count(text: &str) -> usize {
    let start = text.find("There ").or_else(|| text.find("Nothing changes"));
    let sentences = &text[start.expect("no count")..];
    let number = |words: &str| {
        let (before, _) = sentences.split_once(words)?;
        before.split(' ').next_back()?.parse().ok()
    };
    let all = number(" changes. All of them break ");
    let some = all.or_else(|| number(" of them break "));
    let is_one = sentences.contains("It breaks ") || sentences.contains("One of them breaks ");
    let is_none = sentences.contains(" as it is.");
    some.unwrap_or_else(|| {
        assert!(is_one || is_none, "{sentences}");
        usize::from(is_one)
    })
}

#[test]
fn breaking_changes_are_counted_equally_everywhere() {
    let place = Workplace::new();
    let server = place.serve("");
    let read = |path: String| {
        let address = format!("http://{}{path}", server.address());
        let mut reply = agent().get(address).call().unwrap();
        assert_eq!(reply.status(), 200, "{path}");
        reply.body_mut().read_to_string().unwrap()
    };
    let newest = all().newest().unwrap().version.label;
    let labels: Vec<Label> = all().iter().map(|served| served.version.label).collect();
    for (from, to) in pairs(&labels) {
        let print = |format: &str| {
            let line = format!("version difference --from {from} --to {to} --output {format}");
            let ended = place.run(line);
            assert_eq!(ended.stderr(), "");
            ended.done()
        };
        let data: Value = serde_json::from_str(&print("json")).unwrap();
        assert_eq!(data["from"], from.to_string());
        let changes = data["changes"].as_array().unwrap();
        let breaking = changes.iter().filter(|change| change["breaking"] == true);
        let expected = breaking.count();
        assert_eq!(breaking_count(&print("table")), expected, "{from} to {to}");
        if from == to {
            continue;
        }
        let mut pages = vec![format!("/docs/move/{from}/{to}")];
        if all().successor(from) == Some(to) {
            pages.push(format!("/docs/versions/{to}"));
        }
        if to == newest {
            pages.push(format!("/docs/versions/migrating-from-{from}"));
        }
        for page in pages {
            assert_eq!(breaking_count(&read(page.clone())), expected, "{page}");
        }
    }
}

/// Every ordered pair, also of a version with itself.
fn pairs(labels: &[Label]) -> impl Iterator<Item = (Label, Label)> {
    let with = |from: Label| labels.iter().map(move |to| (from, *to));
    labels.iter().flat_map(move |from| with(*from))
}

#[test]
fn unknown_version_is_answered_with_existing_ones() {
    let place = Workplace::new();
    for (from, to) in [("v1999.0", "v2026.1"), ("v2026.1", "v1999.0")] {
        let ended = place.run(format!("version difference --from {from} --to {to}"));
        ended.refuses(&["v1999.0", "v2025.0", "v2026.0", "v2026.1"]);
    }
}

#[test]
fn closed_output_ends_the_command_silently() {
    let place = Workplace::migrated();
    let newest = all().newest().unwrap().version.label;
    for line in [
        &*format!("version openapi {newest}"),
        "provider list",
        "check",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = place.command(line).stdout(writer).output().unwrap();
        assert_eq!(ended.status.code(), Some(141), "{line}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "{line}");
    }
}
