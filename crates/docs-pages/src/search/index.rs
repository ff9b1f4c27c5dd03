//! The search index of a version: headings, paragraphs, fields, codes and rules of its documents,
//! in one list. A search scans the whole list.

use std::collections::BTreeSet;
use std::sync::Arc;

use adapter_kit::{Served, Versions};
use domain::Lists;

use super::pages::{self, SearchPage};
use super::renamed::{RenamedField, RenamedFields};
use crate::documents::{Document, address, rendered};
use crate::page_location::SettingsLink;

/// Maximum number of words of a query.
const MAX_WORDS: usize = 8;
/// Number of characters that an excerpt shows on each side of the match.
const EXCERPT_CHARS: usize = 90;

/// The searchable blocks of the documents of a version, and the fields with another name in other
/// versions.
pub(super) struct Index {
    entries: Vec<Entry>,
    renamed: RenamedFields,
}

/// A searchable block of a document.
pub(super) struct Entry {
    /// The name of the document.
    pub(super) document: Arc<str>,
    page: Arc<str>,
    anchor: String,
    pub(super) title: String,
    text: String,
    /// The title in lower case.
    title_to_search: String,
    /// The text in lower case.
    text_to_search: String,
}

/// A part of a text with the match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) before: String,
    pub(super) found: String,
    pub(super) after: String,
}

impl Index {
    /// Creates the index of a version. The pages are the first entries, so that they rank before
    /// documents with the same score.
    pub(super) fn new(
        served: &Served,
        versions: &Versions,
        lists: &Lists,
        settings: SettingsLink,
    ) -> Self {
        let documents = Document::ALL.into_iter().map(|document| (document, None));
        let parts = Document::ALL.into_iter().flat_map(|document| {
            let parts = document.parts().into_iter();
            parts.map(move |part| (document, Some(part)))
        });
        let mut entries: Vec<Entry> = pages::all(versions, settings)
            .into_iter()
            .map(Entry::from_page)
            .collect();
        for (document, part) in documents.chain(parts) {
            let Some(rendered) = rendered(document, part, served, versions, lists) else {
                continue;
            };
            let page: Arc<str> = address(served.version.label, document, part).into();
            let name: Arc<str> = if part.is_some() {
                rendered.title
            } else {
                document.words().to_owned()
            }
            .into();
            entries.extend(rendered.blocks.into_iter().map(|block| Entry {
                document: Arc::clone(&name),
                page: Arc::clone(&page),
                title_to_search: block.title.to_lowercase(),
                text_to_search: block.text.to_lowercase(),
                anchor: block.anchor,
                title: block.title,
                text: block.text,
            }));
        }
        Self {
            entries,
            renamed: RenamedFields::new(served, versions, lists),
        }
    }

    /// Returns the fields of other versions that a query names, with their names in this version.
    pub(super) fn find_renamed(&self, query: &str) -> Vec<&RenamedField> {
        self.renamed.find(query.split_whitespace().take(MAX_WORDS))
    }

    /// Returns the entries that contain every word of a query, best first, and at most one entry
    /// for each anchor.
    pub(super) fn find(&self, query: &str) -> Vec<&Entry> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        if words.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<(u32, &Entry)> = self
            .entries
            .iter()
            .filter_map(|entry| Some((entry.score(&query, &words)?, entry)))
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let mut anchors = BTreeSet::new();
        found.retain(|(_, entry)| anchors.insert((&entry.page, &entry.anchor)));
        found.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Entry {
    fn from_page(page: SearchPage) -> Self {
        Self {
            document: page.kind.into(),
            page: page.address.into(),
            anchor: String::new(),
            title_to_search: page.title.to_lowercase(),
            text_to_search: page.text.to_lowercase(),
            title: page.title,
            text: page.text,
        }
    }

    /// Returns the score of the entry: words count more in the title than in the text, and the
    /// whole query counts extra. `None` if the entry lacks a word.
    fn score(&self, query: &str, words: &[&str]) -> Option<u32> {
        let mut score = 0;
        for word in words {
            score += match (
                self.title_to_search.contains(word),
                self.text_to_search.contains(word),
            ) {
                (true, _) => 10,
                (false, true) => 1,
                (false, false) => return None,
            };
        }
        let phrase = query.trim();
        if self.title_to_search == phrase {
            score += 100;
        }
        if self.title_to_search.starts_with(phrase) {
            score += 20;
        }
        if self.text_to_search.contains(phrase) {
            score += 5;
        }
        Some(score)
    }

    /// Returns the address of the entry.
    pub(super) fn address(&self) -> String {
        if self.anchor.is_empty() {
            self.page.to_string()
        } else {
            format!("{}#{}", self.page, self.anchor)
        }
    }

    /// Returns the part of the text around the match.
    pub(super) fn excerpt(&self, query: &str) -> Excerpt {
        let query = query.to_lowercase();
        let candidates = [query.trim()].into_iter().chain(query.split_whitespace());
        // The whole query is preferred, then its first word in the text.
        let range = candidates
            .filter(|word| !word.is_empty())
            .find_map(|word| find_ignoring_case(&self.text, word));
        let (start, end) = range.unwrap_or((0, 0));
        let (before, rest) = self
            .text
            .split_at_checked(start)
            .unwrap_or(("", &self.text));
        let (found, after) = rest.split_at_checked(end - start).unwrap_or(("", rest));
        let from = before
            .char_indices()
            .rev()
            .nth(EXCERPT_CHARS)
            .map_or(0, |(position, _)| position);
        let until = after
            .char_indices()
            .nth(EXCERPT_CHARS)
            .map_or(after.len(), |(position, _)| position);
        let dots = |is_cut: bool| if is_cut { "… " } else { "" };
        Excerpt {
            before: format!(
                "{}{}",
                dots(from > 0),
                before.get(from..).unwrap_or_default()
            ),
            found: found.to_owned(),
            after: format!(
                "{}{}",
                after.get(..until).unwrap_or_default(),
                if until < after.len() { " …" } else { "" }
            ),
        }
    }
}

/// Returns the byte range of the first occurrence of a lower-case word, ignoring the case of the
/// text.
fn find_ignoring_case(text: &str, word: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(start, _)| {
        let rest = text.get(start..)?;
        // The lower-case characters, each with the end of its original character: one character can
        // have several in lower case.
        let mut lower = rest.char_indices().flat_map(|(position, character)| {
            let end = position + character.len_utf8();
            character.to_lowercase().map(move |lower| (end, lower))
        });
        let mut match_end = 0;
        for wanted in word.chars() {
            let (end, character) = lower.next()?;
            if character != wanted {
                return None;
            }
            match_end = end;
        }
        Some((start, start + match_end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(title: &str, text: &str) -> Entry {
        Entry {
            document: "Contract".into(),
            page: "/docs/x".into(),
            anchor: title.to_lowercase(),
            title: title.to_owned(),
            text: text.to_owned(),
            title_to_search: title.to_lowercase(),
            text_to_search: text.to_lowercase(),
        }
    }

    #[test]
    fn entries_with_all_words_are_ranked_by_title() {
        let entries = vec![
            entry("Other", "the If-Match header"),
            entry("If-Match", "a header"),
            entry("Other", "If-Match"),
        ];
        let index = Index {
            entries,
            renamed: RenamedFields::default(),
        };
        let found: Vec<String> = index
            .find("if-match HEADER")
            .into_iter()
            .map(Entry::address)
            .collect();
        assert_eq!(found, ["/docs/x#if-match", "/docs/x#other"]);
        assert!(index.find(" ").is_empty() && index.find("if-match nothing").is_empty());
    }

    #[test]
    fn excerpt_keeps_the_case_of_the_text() {
        let found = entry("a", "İstanbul: Zoë's Trainee").excerpt("zoë");
        assert_eq!(
            found,
            Excerpt {
                before: "İstanbul: ".into(),
                found: "Zoë".into(),
                after: "'s Trainee".into()
            }
        );
        let long = entry("a", &format!("{} b {}", "é".repeat(300), "é".repeat(300))).excerpt(" b ");
        assert!(long.before.starts_with("… ") && long.after.ends_with(" …") && long.found == "b");
        assert_eq!(entry("a", "text").excerpt("a").after, "text");
    }
}
