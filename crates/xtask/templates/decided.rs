//! What the author of this version still has to decide. This is the one test that fails in a
//! version that was just made.

/// The sources of the version, where lines say what is to be decided.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
/// How such a line is marked.
const MARK: &str = "TO DECIDE: ";

#[test]
fn nothing_is_left_to_decide() {
    let version = &MODULE::CONSTANT;
    let mut left = Vec::new();
    for entry in std::fs::read_dir(SOURCES).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let marked = text
            .lines()
            .filter_map(|line| Some(line.split_once(MARK)?.1));
        left.extend(marked.map(|what| format!("{}: {what}", path.file_name().unwrap().display())));
    }
    if version.publication.since.is_none() {
        left.push("publication: the day of its release".to_owned());
    }
    if version.notes.is_empty() {
        left.push("notes: what a client should know, one sentence each".to_owned());
    }
    for gone in version
        .endpoints
        .deprecated
        .iter()
        .filter(|gone| gone.removed_in <= version.label)
    {
        left.push(format!(
            "endpoints: {} was to be removed in {}",
            gone.endpoint.path(),
            gone.removed_in
        ));
    }
    left.sort();
    assert!(
        left.is_empty(),
        "{} has yet to be decided:\n- {}\n",
        version.label,
        left.join("\n- ")
    );
}
