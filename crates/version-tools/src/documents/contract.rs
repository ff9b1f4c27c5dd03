//! The chapters of the contract.

use std::collections::HashMap;
use std::sync::LazyLock;

use adapter_kit::Endpoint;

use crate::documents::wording::endpoint_in;

/// The introduction of the contract, in Markdown.
pub const INTRODUCTION: &str = include_str!("../../../../docs/api/README.md");

/// A chapter of the contract.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// The name of the file without the ending. Addresses use the same name.
    pub name: &'static str,
    /// The text, in Markdown.
    pub text: &'static str,
}

macro_rules! chapters {
    ($($name:literal),* $(,)?) => {
        &[$(Chapter { name: $name, text: include_str!(concat!("../../../../docs/api/", $name, ".md")) }),*]
    };
}

/// All chapters, in order.
pub const CHAPTERS: &[Chapter] = chapters![
    "2-records-and-fields",
    "3-states-and-transitions",
    "4-endpoints",
    "5-authentication",
    "6-requests-and-replies",
    "7-errors",
    "8-limits",
    "9-versions",
    "10-code-lists",
    "11-additions",
];

/// The position of a section: the chapter and the anchor of the heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlace {
    /// The name of the chapter.
    pub chapter: &'static str,
    /// The anchor of the heading. Empty for the beginning of the chapter.
    pub anchor: String,
}

/// Returns the section about an endpoint. An endpoint without a section gets the beginning of the
/// chapter about endpoints.
#[must_use]
pub fn section(endpoint: Endpoint) -> &'static SectionPlace {
    static SECTIONS: LazyLock<HashMap<Endpoint, SectionPlace>> = LazyLock::new(|| {
        let mut sections = HashMap::new();
        for chapter in CHAPTERS {
            let headings = chapter
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("## "));
            for heading in headings {
                if let Some(endpoint) = endpoint_in(heading) {
                    let anchor = slug(heading);
                    sections.insert(
                        endpoint,
                        SectionPlace {
                            chapter: chapter.name,
                            anchor,
                        },
                    );
                }
            }
        }
        sections
    });
    static ALL: SectionPlace = SectionPlace {
        chapter: "4-endpoints",
        anchor: String::new(),
    };
    SECTIONS.get(&endpoint).unwrap_or(&ALL)
}

/// Returns the chapter with this name.
#[must_use]
pub fn chapter(name: &str) -> Option<&'static Chapter> {
    CHAPTERS.iter().find(|chapter| chapter.name == name)
}

/// Returns the anchor of a heading on a page.
#[must_use]
pub fn slug(heading: &str) -> String {
    let lowercase = heading.to_lowercase();
    let without_punctuation = lowercase
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' '));
    without_punctuation
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_without_section_gets_the_whole_chapter() {
        let place = |endpoint| (section(endpoint).chapter, section(endpoint).anchor.as_str());
        assert_eq!(
            place(Endpoint::ListTrainees),
            ("4-endpoints", "42-get-trainees")
        );
        let anchor = "412-post-traineestrainee_idupdate-qts-or-eyts-status";
        assert_eq!(
            place(Endpoint::UpdateQtsOrEytsStatus),
            ("4-endpoints", anchor)
        );
        assert_eq!(place(Endpoint::ShowUsage), ("4-endpoints", ""));
    }

    #[test]
    fn every_chapter_begins_with_its_number() {
        for chapter in CHAPTERS {
            let (number, _) = chapter.name.split_once('-').unwrap();
            assert!(
                chapter.text.starts_with(&format!("# {number} ")),
                "{}",
                chapter.name
            );
        }
    }
}
