//! The names of a version, and the entries for versions in files outside its crate.

use std::fs;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::sources::{execute, is_word};

/// The file with the lists of served and removed versions.
pub(crate) const LIST: &str = "crates/versions/src/lib.rs";
/// The file with field names of released versions.
pub(crate) const FORMER_NAMES: &str = "crates/versions/src/former_names.rs";

/// The stage of a version, in the order of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    PreRelease,
    Candidate,
    Release,
}

impl Stage {
    fn suffix(self) -> &'static str {
        match self {
            Self::PreRelease => "-pre",
            Self::Candidate => "-rc",
            Self::Release => "",
        }
    }
}

/// The label of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) year: u16,
    pub(crate) major: u16,
    pub(crate) stage: Stage,
}

impl Version {
    /// Parses a label of the form vYEAR.MAJOR, optionally with -pre or -rc.
    pub(crate) fn from_label(label: &str) -> Result<Self, Failure> {
        let parts = label
            .strip_prefix('v')
            .and_then(|numbers| numbers.split_once('.'));
        let version = parts.and_then(|(year, rest)| {
            let (major, stage) = match rest.split_once('-') {
                None => (rest, Stage::Release),
                Some((major, "pre")) => (major, Stage::PreRelease),
                Some((major, "rc")) => (major, Stage::Candidate),
                Some(_) => return None,
            };
            Some(Self {
                year: year.parse().ok()?,
                major: major.parse().ok()?,
                stage,
            })
        });
        // Numbers with leading zeros or a sign are rejected.
        version
            .filter(|version| version.label() == label)
            .ok_or_else(|| {
                format!(
                    "{label} is not a version label: use vYEAR.MAJOR, optionally with -pre or -rc"
                )
                .into()
            })
    }

    /// Returns the version in an entry of one of the lists, if any.
    fn from_line(line: &str) -> Option<Self> {
        let package = line
            .split_once("api-v")
            .or_else(|| line.split_once("api_v"));
        if let Some((_, rest)) = package {
            let name = rest
                .split(|c| !is_word(c) && c != '-')
                .next()?
                .replace('_', "-");
            return Self::from_label(&format!("v{}", name.replacen('-', ".", 1))).ok();
        }
        let (_, literal) = line.split_once("Label { year: ")?;
        let (year, literal) = literal.split_once(", major: ")?;
        let (major, literal) = literal.split_once(", stage: Stage::")?;
        let stages = [Stage::PreRelease, Stage::Candidate, Stage::Release];
        let stage = stages
            .into_iter()
            .find(|stage| literal.starts_with(&format!("{stage:?} ")))?;
        Some(Self {
            year: year.parse().ok()?,
            major: major.parse().ok()?,
            stage,
        })
    }

    pub(crate) fn label(&self) -> String {
        format!("v{}.{}{}", self.year, self.major, self.stage.suffix())
    }

    /// Returns the name of the version's crate, such as `api-v2030-1-rc`.
    pub(crate) fn package(&self) -> String {
        format!("api-{}", self.label().replace('.', "-"))
    }

    /// Returns the name of the version's crate in Rust code, such as `api_v2030_1_rc`.
    pub(crate) fn module(&self) -> String {
        self.package().replace('-', "_")
    }

    /// Returns the name of the version's value, such as `V2030_1_RC`.
    pub(crate) fn constant(&self) -> String {
        self.module().trim_start_matches("api_").to_uppercase()
    }

    /// Returns the folder of the version's crate.
    pub(crate) fn folder(&self) -> String {
        format!("crates/{}", self.package())
    }

    /// Returns the label as a Rust expression, as in the list of removed versions.
    pub(crate) fn label_literal(&self) -> String {
        format!(
            "Label {{ year: {}, major: {}, stage: Stage::{:?} }}",
            self.year, self.major, self.stage
        )
    }

    /// Returns the entries for a served version outside its crate, with their files.
    fn listed_lines(&self) -> [(&'static str, String); 4] {
        let package = self.package();
        let module = self.module();
        let constant = self.constant();
        [
            ("Cargo.toml", format!("    \"crates/{package}\",")),
            (
                "Cargo.toml",
                format!("{package} = {{ path = \"crates/{package}\" }}"),
            ),
            (
                "crates/versions/Cargo.toml",
                format!("{package}.workspace = true"),
            ),
            (LIST, format!("    &{module}::{constant},")),
        ]
    }
}

/// Adds the version to every list.
pub(crate) fn add_to_lists(version: &Version) -> Result<(), Failure> {
    for (at, (file, line)) in version.listed_lines().into_iter().enumerate() {
        let is_of_kind = |other: &Version, found: &str| {
            other
                .listed_lines()
                .get(at)
                .is_some_and(|(_, line)| found == line)
        };
        insert_into(file, version, &line, is_of_kind)?;
    }
    Ok(())
}

/// Adds the version to the list of removed versions, with its publication date.
pub(crate) fn add_to_removed(version: &Version, since: &str) -> Result<(), Failure> {
    let line = format!("{}date({since}) }},", begin_removed(version));
    insert_into(LIST, version, &line, is_removed)
}

/// The beginning of the entry of a removed version.
fn begin_removed(version: &Version) -> String {
    format!("    Removed {{ label: {}, since: ", version.label_literal())
}

fn is_removed(version: &Version, line: &str) -> bool {
    line.starts_with(&begin_removed(version))
}

/// Removes the version from every list.
pub(crate) fn remove_from_lists(version: &Version) -> Result<(), Failure> {
    for (file, line) in version.listed_lines() {
        change(file, |text| Ok(remove_line(text, &line)))?;
    }
    Ok(())
}

/// Inserts the entry of a version into a file.
fn insert_into(
    file: &str,
    version: &Version,
    line: &str,
    is_of_kind: impl Fn(&Version, &str) -> bool,
) -> Result<(), Failure> {
    change(file, |text| {
        insert_line(text, version, line, is_of_kind).ok_or_else(|| {
            format!("{file} has no similar entry, so this line cannot be inserted: {line}").into()
        })
    })
}

/// Replaces the text of a file.
pub(crate) fn change(
    file: &str,
    edit: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let text = fs::read_to_string(file)?;
    Ok(fs::write(file, edit(&text)?)?)
}

/// Inserts the entry of a version among the entries of the same kind, oldest version first. Returns
/// `None` if there is no entry of this kind.
fn insert_line(
    text: &str,
    version: &Version,
    line: &str,
    is_of_kind: impl Fn(&Version, &str) -> bool,
) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let named = |found: &&str| Version::from_line(found).filter(|other| is_of_kind(other, found));
    let first = lines.iter().position(|found| named(found).is_some())?;
    let older = lines
        .iter()
        .skip(first)
        .take_while(|found| named(found).is_some_and(|other| other < *version));
    let at = first + older.count();
    let (before, after) = lines.split_at_checked(at)?;
    Some([before, &[line], after, &[""]].concat().join("\n"))
}

fn remove_line(text: &str, line: &str) -> String {
    let kept = text
        .split_inclusive('\n')
        .filter(|found| found.trim_end_matches('\n') != line);
    kept.collect()
}

/// Updates lock files, documents and snapshots after a change of the versions. The tests that
/// compare with committed files have `committed` in their names. The selection of crates is the
/// same as in `make test`, so that no crate is compiled twice.
pub(crate) fn generate() -> Result<(), Failure> {
    let update = ["update", "--quiet", "--offline", "--workspace"];
    execute(Command::new("cargo").args(update))?;
    // This can fail offline if the fuzzer was never built here. The next run of the fuzzer updates
    // its lock file.
    Command::new("cargo")
        .args(update)
        .args(["--manifest-path", "fuzz/Cargo.toml"])
        .stderr(Stdio::null())
        .status()?;
    let test = [
        "test",
        "--quiet",
        "--locked",
        "--workspace",
        "--test",
        "api",
        "--",
        "snapshots",
        "committed",
    ];
    execute(
        Command::new("cargo")
            .args(test)
            .env("INSTA_UPDATE", "always"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(label: &str) -> Version {
        Version::from_label(label).unwrap()
    }

    /// Inserts the entry of a version into the list with this number.
    fn insert(text: &str, label: &str, at: usize) -> Option<String> {
        let version = version(label);
        let line = version.listed_lines().get(at).unwrap().1.clone();
        insert_line(text, &version, &line, |other, found| {
            found == other.listed_lines().get(at).unwrap().1
        })
    }

    #[test]
    fn version_names_are_derived_from_label() {
        let version = version("v2030.1-rc");
        assert_eq!(
            version,
            Version {
                year: 2030,
                major: 1,
                stage: Stage::Candidate
            }
        );
        assert_eq!(version.package(), "api-v2030-1-rc");
        assert_eq!(version.module(), "api_v2030_1_rc");
        assert_eq!(version.constant(), "V2030_1_RC");
        assert_eq!(
            version.label_literal(),
            "Label { year: 2030, major: 1, stage: Stage::Candidate }"
        );
    }

    #[test]
    fn malformed_labels_are_rejected() {
        for label in [
            "",
            "v",
            "2030.0",
            "v2030",
            "v2030.0-beta",
            "v02030.0",
            "v2030.00",
            "v70000.0",
            "v2030.+1",
            "v2030.0-",
        ] {
            assert!(Version::from_label(label).is_err(), "{label}");
        }
    }

    #[test]
    fn version_is_parsed_from_each_list() {
        for label in ["v2030.0", "v2030.1-pre", "v31.12-rc"] {
            let version = version(label);
            for (_, line) in version.listed_lines() {
                assert_eq!(Version::from_line(&line), Some(version), "{line}");
            }
            assert_eq!(
                Version::from_line(&format!("Removed {{ label: {}, ", version.label_literal())),
                Some(version)
            );
        }
        assert_eq!(Version::from_line("adapter-kit.workspace = true"), None);
        assert_eq!(Version::from_line("api-value.workspace = true"), None);
    }

    #[test]
    fn committed_list_accepts_removed_version() {
        let list = include_str!("../../versions/src/lib.rs");
        let line = "    // The removed version.";
        let with_line = insert_line(list, &version("v2999.0"), line, is_removed).unwrap();
        assert!(with_line.contains(&format!("{line}\n];\n")), "{with_line}");
    }

    #[test]
    fn entry_is_inserted_in_order_of_versions() {
        let text = "a\napi-v2030-0.workspace = true\napi-v2030-2.workspace = true\nb\n";
        let with = |line: &str, at: usize| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.insert(at, line);
            Some(lines.join("\n") + "\n")
        };
        assert_eq!(
            insert(text, "v2029.0", 2),
            with("api-v2029-0.workspace = true", 1)
        );
        assert_eq!(
            insert(text, "v2030.0-rc", 2),
            with("api-v2030-0-rc.workspace = true", 1)
        );
        assert_eq!(
            insert(text, "v2030.1", 2),
            with("api-v2030-1.workspace = true", 2)
        );
        assert_eq!(
            insert(text, "v2031.0-pre", 2),
            with("api-v2031-0-pre.workspace = true", 3)
        );
        assert_eq!(insert(text, "v2031.0", 1), None);
        assert_eq!(
            remove_line(text, "api-v2030-0.workspace = true"),
            "a\napi-v2030-2.workspace = true\nb\n"
        );
    }
}
