//! The label of a version, such as the one in its path (contract, section 9.1).

use std::fmt;
use std::str::FromStr;

use serde::ser::{Serialize, Serializer};

/// The stage of a version: pre-release, then release candidate, then release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Suffix `-pre`: anything may change.
    PreRelease,
    /// Suffix `-rc`: no change is expected before the release.
    Candidate,
    /// Without a suffix.
    Release,
}

/// A version label such as `v2026.1` or `v2026.1-rc`. Labels are ordered by year, major number and
/// stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The year when the version enters production.
    pub year: u16,
    /// The major number within the year, from 0.
    pub major: u16,
    /// The stage.
    pub stage: Stage,
}

impl Label {
    /// Returns the label of a release.
    #[must_use]
    pub const fn release(year: u16, major: u16) -> Self {
        Self {
            year,
            major,
            stage: Stage::Release,
        }
    }

    /// Returns the path of the version, such as `/api/v2026.1`.
    #[must_use]
    pub fn base_path(self) -> String {
        format!("/api/{self}")
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.stage {
            Stage::PreRelease => "-pre",
            Stage::Candidate => "-rc",
            Stage::Release => "",
        };
        write!(formatter, "v{}.{}{suffix}", self.year, self.major)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A string that is not the label of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version label of the form vYEAR.MAJOR, perhaps with -pre or -rc")]
pub struct InvalidLabel;

impl FromStr for Label {
    type Err = InvalidLabel;

    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        let (numbers, stage) = match text.split_once('-') {
            None => (text, Stage::Release),
            Some((numbers, "pre")) => (numbers, Stage::PreRelease),
            Some((numbers, "rc")) => (numbers, Stage::Candidate),
            Some(_) => return Err(InvalidLabel),
        };
        let (year, major) = numbers
            .strip_prefix('v')
            .and_then(|numbers| numbers.split_once('.'))
            .ok_or(InvalidLabel)?;
        Ok(Self {
            year: canonical_number(year).ok_or(InvalidLabel)?,
            major: canonical_number(major).ok_or(InvalidLabel)?,
            stage,
        })
    }
}

/// Parses decimal digits without a sign and without leading zeros.
fn canonical_number(text: &str) -> Option<u16> {
    let is_canonical = text == "0" || !text.starts_with('0');
    let has_only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_canonical && has_only_digits {
        text.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_labels_are_rejected() {
        for text in [
            "",
            "2025.0",
            "v2025",
            "v2025.",
            "v2025.00",
            "v2025.0-beta",
            "v2025.+1",
            "v99999.0",
            "v2025.0-",
        ] {
            assert_eq!(text.parse::<Label>(), Err(InvalidLabel), "{text}");
        }
    }

    #[test]
    fn labels_are_ordered_by_year_number_and_stage() {
        let mut labels: Vec<Label> = [
            "v2026.0",
            "v2025.2",
            "v2026.0-rc",
            "v2026.0-pre",
            "v2025.10",
        ]
        .iter()
        .map(|l| l.parse().unwrap())
        .collect();
        labels.sort();
        let texts: Vec<String> = labels.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "v2025.2",
                "v2025.10",
                "v2026.0-pre",
                "v2026.0-rc",
                "v2026.0"
            ]
        );
    }
}
