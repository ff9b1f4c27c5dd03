//! How deep the body of a request may be nested.

use adapter_kit::Versions;
use adapter_kit::read::{MAX_DEPTH, NestedLists, Reader, UnknownNames, parse_json};
use conformance::sample_version::SAMPLE_VERSION;
use domain::Trainee;

#[test]
fn depth_limit_is_the_same_wherever_the_depth_is() {
    let versions = Versions::new(&[&SAMPLE_VERSION]);
    let served = versions.iter().next().unwrap();
    let reader = Reader { served, unknown: UnknownNames::Warn, nested: NestedLists::Read };
    for (before, after, around) in [
        ("", "", 0),
        (r#"{"other":"#, "}", 1),
        (r#"{"data":"#, "}", 1),
        (r#"{"data":{"last_name":"#, "}}", 2),
        (r#"{"data":{"other":"#, "}}", 2),
        (r#"{"data":{"schools":"#, "}}", 2),
        (r#"{"data":{"schools":["#, "]}}", 3),
        (r#"{"data":{"schools":[{"name":"#, "}]}}", 4),
        (r#"{"data":{"schools":[{"other":"#, "}]}}", 4),
        (r#"{"data":{"awards":[{"topic":"#, "}]}}", 4),
    ] {
        for (levels, accepted) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let arrays = levels - around;
            let body = format!("{before}{}{}{after}", "[".repeat(arrays), "]".repeat(arrays));
            assert_eq!(parse_json(body.as_bytes()).is_ok(), accepted, "{before} {levels}");
            assert_eq!(reader.read::<Trainee>(body.as_bytes()).is_ok(), accepted, "{before} {levels}");
        }
    }
}
