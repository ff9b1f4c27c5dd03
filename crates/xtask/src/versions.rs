//! What a version is called in all its places, and the lists outside its crate that name it.

use std::fs;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::sources::{execute, is_word};

/// The list of versions.
pub(crate) const LIST: &str = "crates/versions/src/lib.rs";
/// The names that outlive their version.
pub(crate) const FORMER_NAMES: &str = "crates/versions/src/former_names.rs";

/// How far a version is, in the order of labels.
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

/// A version by its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) year: u16,
    pub(crate) major: u16,
    pub(crate) stage: Stage,
}

impl Version {
    /// Reads a label of the form vYEAR.MAJOR, perhaps with -pre or -rc.
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
        // A number has one spelling.
        version.filter(|version| version.label() == label).ok_or_else(|| {
            format!("{label} is not a version label of the form vYEAR.MAJOR, perhaps with -pre or -rc").into()
        })
    }

    /// The version that a line of one of the lists names, if any.
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

    /// Its crate, such as `api-v2030-1-rc`.
    pub(crate) fn package(&self) -> String {
        format!("api-{}", self.label().replace('.', "-"))
    }

    /// Its crate, as Rust names it.
    pub(crate) fn module(&self) -> String {
        self.package().replace('-', "_")
    }

    /// The value in its crate, such as `V2030_1_RC`.
    pub(crate) fn constant(&self) -> String {
        self.module().trim_start_matches("api_").to_uppercase()
    }

    /// The folder of its crate.
    pub(crate) fn folder(&self) -> String {
        format!("crates/{}", self.package())
    }

    /// The label as the list of removed versions has it.
    pub(crate) fn label_literal(&self) -> String {
        format!(
            "Label {{ year: {}, major: {}, stage: Stage::{:?} }}",
            self.year, self.major, self.stage
        )
    }

    /// The lines outside its crate that name a version that is served, with their files.
    fn listed_lines(&self) -> [(&'static str, String); 4] {
        let (package, module, constant) = (self.package(), self.module(), self.constant());
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

/// Adds the version to the removed ones, with the day since which it was served.
pub(crate) fn add_to_removed(version: &Version, since: &str) -> Result<(), Failure> {
    let begin =
        |version: &Version| format!("    Removed {{ label: {}, since: ", version.label_literal());
    let line = format!("{}date({since}) }},", begin(version));
    let is_of_kind = |other: &Version, found: &str| found.starts_with(&begin(other));
    insert_into(LIST, version, &line, is_of_kind)
}

/// Removes the version from every list.
pub(crate) fn remove_from_lists(version: &Version) -> Result<(), Failure> {
    for (file, line) in version.listed_lines() {
        change(file, |text| Ok(remove_line(text, &line)))?;
    }
    Ok(())
}

/// Puts a line that names a version into a file.
fn insert_into(
    file: &str,
    version: &Version,
    line: &str,
    is_of_kind: impl Fn(&Version, &str) -> bool,
) -> Result<(), Failure> {
    change(file, |text| {
        insert_line(text, version, line, is_of_kind).ok_or_else(|| {
            format!("{file} has no line beside which this one belongs: {line}").into()
        })
    })
}

/// Writes a file again with another text.
pub(crate) fn change(
    file: &str,
    edit: impl FnOnce(&str) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let text = fs::read_to_string(file)?;
    Ok(fs::write(file, edit(&text)?)?)
}

/// Puts a line that names a version among those of its kind, oldest version first. `None` where
/// there is none of its kind.
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

/// Writes everything that follows from the versions: lock files, documents and snapshots. A test
/// that compares with a committed file says so in its name. The selection of crates is that of
/// `make test`, so that nothing is compiled twice.
pub(crate) fn generate() -> Result<(), Failure> {
    let update = ["update", "--quiet", "--offline", "--workspace"];
    execute(Command::new("cargo").args(update))?;
    // Where the fuzzer was never built, its packages may be unknown here; then its next run puts
    // this right.
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

    /// The text with the line of a version in the list with this number.
    fn insert(text: &str, label: &str, at: usize) -> Option<String> {
        let version = version(label);
        let line = version.listed_lines().get(at).unwrap().1.clone();
        insert_line(text, &version, &line, |other, found| {
            found == other.listed_lines().get(at).unwrap().1
        })
    }

    #[test]
    fn a_version_has_a_name_for_each_place() {
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
    fn labels_of_another_form_are_refused() {
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
    fn a_line_names_a_version_in_each_list() {
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
    fn a_line_is_inserted_by_its_version_among_its_kind() {
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
