//! Checks the dependencies between crates (docs/architecture.md), the length of files, and a few
//! rules for sources.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::failure::{Failure, conclude};
use crate::sources::{Sources, is_word, output};

/// Maximum number of lines of a file.
const MAX_LINES: usize = 800;

const MAP: &str = "docs/architecture.md";

/// Crates with their forbidden dependencies, direct or indirect. A crate can have several entries.
/// A star stands for the rest of a name.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "domain",
        &["serde_json", "serde_derive", "diesel*", "actix*", "tokio"],
    ),
    (
        "domain",
        &["fixtures", "adapter-kit", "api-*", "storage", "server"],
    ),
    (
        "fixtures",
        &["serde_json", "serde_derive", "diesel*", "actix*", "tokio"],
    ),
    ("fixtures", &["adapter-kit", "api-*", "storage", "server"]),
    (
        "adapter-kit",
        &[
            "diesel*",
            "actix*",
            "tokio",
            "api-*",
            "storage",
            "server",
            "version-tools",
            "conformance",
        ],
    ),
    (
        "version-tools",
        &["diesel*", "actix*", "tokio", "api-*", "storage", "server"],
    ),
    (
        "conformance",
        &["diesel*", "actix*", "tokio", "api-*", "storage", "server"],
    ),
    (
        "api-*",
        &[
            "diesel*",
            "actix*",
            "tokio",
            "api-*",
            "storage",
            "server",
            "version-tools",
            "conformance",
        ],
    ),
    (
        "postgres-client",
        &[
            "actix*",
            "domain",
            "adapter-kit",
            "api-*",
            "storage",
            "server",
        ],
    ),
    (
        "database",
        &[
            "actix*",
            "adapter-kit",
            "version-tools",
            "conformance",
            "api-*",
            "storage",
            "server",
        ],
    ),
    (
        "stored-document",
        &[
            "actix*",
            "adapter-kit",
            "version-tools",
            "conformance",
            "api-*",
            "storage",
            "server",
        ],
    ),
    (
        "storage",
        &[
            "actix*",
            "adapter-kit",
            "version-tools",
            "conformance",
            "api-*",
            "server",
        ],
    ),
    // Crates above storage. Only the binary depends on all of them.
    (
        "http-kit",
        &[
            "database",
            "storage",
            "version-tools",
            "conformance",
            "versions",
            "api-*",
            "usage",
            "registry",
            "gateway",
            "docs-pages",
            "settings-pages",
            "server",
        ],
    ),
    (
        "usage",
        &[
            "conformance",
            "registry",
            "gateway",
            "docs-pages",
            "settings-pages",
            "server",
        ],
    ),
    (
        "registry",
        &[
            "actix*",
            "adapter-kit",
            "version-tools",
            "conformance",
            "api-*",
            "http-kit",
            "usage",
            "gateway",
            "docs-pages",
            "settings-pages",
            "server",
        ],
    ),
    (
        "gateway",
        &["conformance", "docs-pages", "settings-pages", "server"],
    ),
    ("docs-pages", &["conformance", "settings-pages", "server"]),
    ("settings-pages", &["conformance", "docs-pages", "server"]),
    (
        "versions",
        &[
            "diesel*",
            "actix*",
            "tokio",
            "version-tools",
            "conformance",
            "storage",
            "server",
        ],
    ),
    (
        "test-support",
        &[
            "actix*",
            "domain",
            "adapter-kit",
            "api-*",
            "storage",
            "server",
        ],
    ),
    // `postgres-client` connects to PostgreSQL without a system library.
    (
        "server",
        &["pq-sys", "openssl", "openssl-sys", "native-tls"],
    ),
    // Everything that is built into the server.
    (
        "server",
        &[
            "test-support",
            "conformance",
            "endurance",
            "black-box",
            "bench",
            "xtask",
        ],
    ),
];

/// Programs that every machine has. Tests may run them directly.
const EVERYWHERE: &[&str] = &["sh", "id", "df", "chown", "mount", "unshare"];

/// Checks the sources, and runs `cargo tree` for the dependencies of each crate.
pub(crate) fn check(sources: &Sources) -> Result<String, Failure> {
    let mut breaches = compare_with_map(sources);
    for name in sources.crates() {
        if FORBIDDEN.iter().any(|(pattern, _)| matches(name, pattern)) {
            breaches.extend(find_forbidden(name, &list_dependencies(name)?));
        }
    }
    breaches.extend(find_serialisable_types(sources));
    breaches.extend(find_unbound_nulls(sources));
    breaches.extend(find_executed_programs(sources));
    breaches.extend(find_path_dependencies(sources));
    breaches.extend(find_long_files(sources));
    let breaches = breaches
        .into_iter()
        .map(|breach| format!("structure: {breach}"))
        .collect();
    conclude(
        breaches,
        "structure: all dependencies are allowed, and no file is too long",
    )
}

/// Returns the names of the crates that a crate depends on, directly or indirectly, including its
/// own name.
fn list_dependencies(name: &str) -> Result<BTreeSet<String>, Failure> {
    let arguments = [
        "tree",
        "--locked",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--package",
        name,
    ];
    let tree = output(Command::new("cargo").args(arguments))?;
    Ok(tree
        .lines()
        .filter_map(|line| Some(line.split(' ').next()?.to_owned()))
        .collect())
}

fn find_forbidden(name: &str, parts: &BTreeSet<String>) -> Vec<String> {
    let mut breaches = Vec::new();
    for (_, forbidden) in FORBIDDEN
        .iter()
        .filter(|(pattern, _)| matches(name, pattern))
    {
        let is_forbidden =
            |part: &&str| *part != name && forbidden.iter().any(|pattern| matches(part, pattern));
        let found: Vec<&str> = parts
            .iter()
            .map(String::as_str)
            .filter(is_forbidden)
            .collect();
        if !found.is_empty() {
            breaches.push(format!("{name} must not depend on {}", found.join(" ")));
        }
    }
    breaches
}

fn matches(name: &str, pattern: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(name == pattern, |beginning| name.starts_with(beginning))
}

/// Returns the name of a crate in the map. All adapter crates share one entry.
fn name_in_map(name: &str) -> &str {
    if name.starts_with("api-") {
        "api-*"
    } else {
        name
    }
}

/// Compares the manifests with the table in the map. Each row begins with a crate and its
/// dependencies.
fn compare_with_map(sources: &Sources) -> Vec<String> {
    let mut documented: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in sources.text(MAP).lines() {
        if let Some((name, rest)) = line
            .strip_prefix("| `")
            .and_then(|line| line.split_once("` |"))
        {
            let names = rest
                .split('|')
                .next()
                .unwrap_or_default()
                .split(|c: char| !is_in_name(c) && c != '*');
            documented
                .entry(name)
                .or_default()
                .extend(names.filter(|name| !name.is_empty()));
        }
    }
    let crates = sources.crates();
    let mut breaches = Vec::new();
    for name in &crates {
        let declared =
            declared_dependencies(sources.text(&format!("crates/{name}/Cargo.toml")), &crates);
        let Some(documented) = documented.get(name_in_map(name)) else {
            breaches.push(format!("{MAP} does not list {name}"));
            continue;
        };
        if declared != *documented {
            let listed: Vec<&str> = documented.iter().copied().collect();
            let listed = if listed.is_empty() {
                "nothing".to_owned()
            } else {
                listed.join(" ")
            };
            breaches.push(format!(
                "{MAP} lists other dependencies of {name} than its manifest: {listed}"
            ));
        }
    }
    breaches
}

/// Whether this character can be part of the name of a crate.
fn is_in_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

/// Returns the crates of this workspace in the dependencies of a manifest.
fn declared_dependencies<'a>(manifest: &'a str, crates: &[&str]) -> BTreeSet<&'a str> {
    let section = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1);
    let declared = section.take_while(|line| !line.starts_with('['));
    let names = declared.filter_map(|line| line.strip_suffix(".workspace = true"));
    names
        .filter(|name| crates.contains(name))
        .map(name_in_map)
        .collect()
}

/// Returns a breach for each use of serde in the domain.
fn find_serialisable_types(sources: &Sources) -> Vec<String> {
    let mut breaches = Vec::new();
    for (path, line) in lines_below(sources, "crates/domain/src") {
        let mut words = line.split(|c| !is_word(c));
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment && words.any(|word| ["serde", "Serialize", "Deserialize"].contains(&word)) {
            breaches.push(format!(
                "{path}: domain types must not be serialisable: {}",
                line.trim()
            ));
        }
    }
    breaches
}

/// Returns a breach for each `Insertable` that omits nulls. Omitting a null makes a different
/// INSERT statement, and each connection keeps every prepared statement.
fn find_unbound_nulls(sources: &Sources) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut is_insertable = false;
    for (path, line) in lines_below(sources, "crates/storage/src") {
        let derives = line.contains("derive(") && line.contains("Insertable");
        let names_table = (is_insertable || derives) && line.contains("diesel(table_name");
        if names_table && !line.contains("treat_none_as_default_value = false") {
            breaches.push(format!(
                "{path}: an Insertable must bind its nulls: treat_none_as_default_value = false"
            ));
        }
        is_insertable = derives;
    }
    breaches
}

/// Returns a breach for each test that runs an optional program directly. `Tool::command` skips
/// such a test by name if the program is missing.
fn find_executed_programs(sources: &Sources) -> Vec<String> {
    let mut breaches = Vec::new();
    for (path, line) in lines_below(sources, "crates") {
        let is_test = path.contains("/tests/") || path.starts_with("crates/test-support/");
        let program = line
            .split_once("Command::new(\"")
            .and_then(|(_, rest)| rest.split('"').next());
        if is_test && program.is_some_and(|program| !EVERYWHERE.contains(&program)) {
            let rule =
                "run other programs in tests with Tool::command, after has_tools (test-support)";
            breaches.push(format!("{path}: {rule}"));
        }
    }
    breaches
}

/// The only crate of this repository that the client program uses.
const SHARED_WITH_CLIENT: &str = "trainee-file";

/// Returns a breach for each path dependency of the client program but [`SHARED_WITH_CLIENT`]. The
/// program must use only the API.
fn find_path_dependencies(sources: &Sources) -> Vec<String> {
    let lines = sources.text("clients/trainee-sync/Cargo.toml").lines();
    let has_path = |line: &&str| {
        line.split_once('=').is_some_and(|(name, value)| {
            name.trim() != SHARED_WITH_CLIENT && value.replace(' ', "").contains("path=")
        })
    };
    lines
        .filter(has_path)
        .map(|line| format!("trainee-sync must not depend on crates of the server: {line}"))
        .collect()
}

fn lines_below<'a>(sources: &'a Sources, folder: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let files = sources.below(&[folder], ".rs").into_iter();
    files.flat_map(|(path, text)| text.lines().map(move |line| (path, line)))
}

fn find_long_files(sources: &Sources) -> Vec<String> {
    let files = sources
        .below(
            &[
                "crates",
                "fuzz/fuzz_targets",
                "clients/trainee-sync/src",
                "bench/plain/src",
            ],
            ".rs",
        )
        .into_iter();
    let lengths = files.map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > MAX_LINES);
    long.map(|(path, lines)| format!("{path} has {lines} lines, more than {MAX_LINES}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIT: &str = "[dependencies]\ndomain.workspace = true\nserde.workspace = true\n[dev-dependencies]\napi-a.workspace = true\n";

    fn compare(map: &str) -> Vec<String> {
        let files = [
            ("crates/domain/Cargo.toml", ""),
            ("crates/api-a/Cargo.toml", ""),
            ("crates/kit/Cargo.toml", KIT),
        ];
        let mut sources = Sources::from(files);
        sources.insert(MAP, map);
        compare_with_map(&sources)
    }

    #[test]
    fn map_that_matches_manifests_passes() {
        let map = "| `domain` | | records |\n| `api-*` | | one version |\n| `kit` | `domain` | all of it |\n";
        assert_eq!(compare(map), [] as [&str; 0]);
    }

    #[test]
    fn map_that_differs_from_manifests_is_a_breach() {
        let map = "| `domain` | `kit` | records |\n| `kit` | | all of it |\n";
        let expected = [
            "docs/architecture.md does not list api-a",
            "docs/architecture.md lists other dependencies of domain than its manifest: kit",
            "docs/architecture.md lists other dependencies of kit than its manifest: nothing",
        ];
        assert_eq!(compare(map), expected);
    }

    #[test]
    fn dependencies_are_forbidden_by_name_or_prefix() {
        let parts = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(
            find_forbidden("api-a", &parts(&["api-a", "domain", "tokio-util"])),
            [] as [&str; 0]
        );
        assert_eq!(
            find_forbidden("api-a", &parts(&["api-a", "api-b"])),
            ["api-a must not depend on api-b"]
        );
        assert_eq!(
            find_forbidden("domain", &parts(&["diesel_derives", "tokio"])),
            ["domain must not depend on diesel_derives tokio"]
        );
    }

    #[test]
    fn serde_in_domain_is_a_breach() {
        let check = |line: &str| {
            find_serialisable_types(&Sources::from([("crates/domain/src/a.rs", line)])).len()
        };
        assert_eq!(check("// serde\nlet deserialized = 1;"), 0);
        assert_eq!(check("#[derive(Clone, Serialize)]"), 1);
        assert_eq!(check("use serde::de;"), 1);
    }

    #[test]
    fn insertable_without_bound_nulls_is_a_breach() {
        let check = |text: &str| {
            find_unbound_nulls(&Sources::from([("crates/storage/src/a.rs", text)])).len()
        };
        assert_eq!(
            check(
                "#[derive(Insertable)]\n#[diesel(table_name = a, treat_none_as_default_value = false)]"
            ),
            0
        );
        assert_eq!(check("#[derive(Queryable)]\n#[diesel(table_name = a)]"), 0);
        assert_eq!(
            check("#[derive(Clone, Insertable)]\n#[diesel(table_name = a)]"),
            1
        );
    }

    #[test]
    fn optional_program_run_directly_in_test_is_a_breach() {
        let check = |path: &str, program: &str| {
            find_executed_programs(&Sources::from([(
                path,
                format!("Command::new(\"{program}\")").as_str(),
            )]))
            .len()
        };
        assert_eq!(check("crates/c/tests/a.rs", "sh"), 0);
        assert_eq!(check("crates/c/src/a.rs", "curl"), 0);
        assert_eq!(check("crates/c/tests/a.rs", "curl"), 1);
        assert_eq!(check("crates/test-support/src/a.rs", "curl"), 1);
    }

    #[test]
    fn path_dependency_of_client_is_a_breach() {
        let check = |line: &str| {
            find_path_dependencies(&Sources::from([("clients/trainee-sync/Cargo.toml", line)]))
                .len()
        };
        assert_eq!(check("csv = \"1.4\""), 0);
        assert_eq!(check("domain = { path = \"../../crates/domain\" }"), 1);
        assert_eq!(
            check("trainee-file = { path = \"../../crates/trainee-file\" }"),
            0
        );
    }

    #[test]
    fn file_longer_than_limit_is_a_breach() {
        let check = |lines: usize| {
            find_long_files(&Sources::from([(
                "crates/c/src/a.rs",
                "\n".repeat(lines).as_str(),
            )]))
        };
        assert_eq!(check(800), [] as [&str; 0]);
        assert_eq!(
            check(801),
            ["crates/c/src/a.rs has 801 lines, more than 800"]
        );
    }
}
