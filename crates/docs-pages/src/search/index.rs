//! The searchable entries of a version: the blocks of its documents, the pages, and the names of
//! other versions. A search scans all entries.

use std::collections::BTreeSet;

use adapter_kit::{Served, Versions};
use domain::Lists;

use crate::documents::{Document, address, rendered};

/// Of a query.
const MAX_WORDS: usize = 8;
/// On each side of the match.
const EXCERPT_CHARS: usize = 90;

pub(super) struct Index(Vec<Entry>);

/// A block of a document, a page, or a name.
pub(super) struct Entry {
    pub(super) document: String,
    pub(super) address: String,
    pub(super) title: String,
    pub(super) text: String,
}

impl Index {
    /// `entries` are other entries, which precede documents with the same score.
    pub(super) fn new(
        mut entries: Vec<Entry>,
        served: &Served,
        versions: &Versions,
        lists: &Lists,
    ) -> Self {
        for document in Document::ALL {
            let parts = document.parts().into_iter().map(Some);
            for part in [None].into_iter().chain(parts) {
                let Some(rendered) = rendered(document, part, served, versions, lists) else {
                    continue;
                };
                let page = address(served.version.label, document, part);
                let name = part.map_or(document.words(), |_| rendered.title.as_str());
                entries.extend(rendered.blocks.into_iter().map(|block| Entry {
                    document: name.to_owned(),
                    address: if block.anchor.is_empty() {
                        page.clone()
                    } else {
                        format!("{page}#{}", block.anchor)
                    },
                    title: block.title,
                    text: block.text,
                }));
            }
        }
        Self(entries)
    }

    /// Returns the entries that contain every word of a query, best first.
    pub(super) fn find(&self, query: &str) -> Vec<&Entry> {
        let query = query.to_ascii_lowercase();
        let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
        if words.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<(u32, &Entry)> = self
            .0
            .iter()
            .filter_map(|entry| Some((entry.score(&query, &words)?, entry)))
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        // A page is listed once, with its best entry.
        let mut addresses = BTreeSet::new();
        found.retain(|(_, entry)| addresses.insert(&entry.address));
        found.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Entry {
    /// Rates the entry. Returns `None` if it lacks a word.
    fn score(&self, query: &str, words: &[&str]) -> Option<u32> {
        let title = self.title.to_ascii_lowercase();
        let text = self.text.to_ascii_lowercase();
        let mut score = 0;
        for word in words {
            // Titles name what a reader searches for.
            score += match (title.contains(word), text.contains(word)) {
                (true, _) => 10,
                (false, true) => 1,
                (false, false) => return None,
            };
        }
        if title == query {
            score += 100;
        }
        if title.starts_with(query) {
            score += 20;
        }
        if text.contains(query) {
            score += 5;
        }
        Some(score)
    }

    /// Returns the text before the query or the first of its words, the match, and the text after
    /// it.
    pub(super) fn excerpt(&self, query: &str) -> [String; 3] {
        let query = query.to_ascii_lowercase();
        // Has the same byte positions as the text.
        let text = self.text.to_ascii_lowercase();
        let mut candidates = [query.as_str()].into_iter().chain(query.split_whitespace());
        let (start, length) = candidates
            .find_map(|word| Some((text.find(word)?, word.len())))
            .unwrap_or((0, 0));
        let (before, rest) = self.text.split_at(start);
        let (found, after) = rest.split_at(length);
        let skipped = before.chars().count().saturating_sub(EXCERPT_CHARS);
        let mut shown: [String; 3] = [
            before.chars().skip(skipped).collect(),
            found.to_owned(),
            after.chars().take(EXCERPT_CHARS).collect(),
        ];
        if skipped > 0 {
            shown[0].insert_str(0, "… ");
        }
        if after.chars().count() > EXCERPT_CHARS {
            shown[2].push_str(" …");
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(title: &str, text: &str) -> Entry {
        Entry {
            document: "Contract".to_owned(),
            address: format!("/docs/x#{}", title.to_lowercase()),
            title: title.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn entries_with_all_words_are_ranked_by_title() {
        let index = Index(vec![
            entry("Other", "the If-Match header"),
            entry("If-Match", "a header"),
            entry("Other", "If-Match"),
        ]);
        let found: Vec<&str> = index
            .find("if-match HEADER")
            .into_iter()
            .map(|entry| entry.address.as_str())
            .collect();
        assert_eq!(found, ["/docs/x#if-match", "/docs/x#other"]);
        assert!(index.find(" ").is_empty() && index.find("if-match nothing").is_empty());
    }

    #[test]
    fn excerpt_keeps_case_and_is_cut_around_match() {
        assert_eq!(
            entry("a", "İstanbul: Zoe's Trainee").excerpt("zoe"),
            ["İstanbul: ", "Zoe", "'s Trainee"]
        );
        let side = "é".repeat(300);
        let [before, found, after] = entry("a", &format!("{side} b {side}")).excerpt("b");
        let shown = "é".repeat(EXCERPT_CHARS - 1);
        assert_eq!(before, format!("… {shown} "));
        assert_eq!(found, "b");
        assert_eq!(after, format!(" {shown} …"));
        assert_eq!(entry("a", "text").excerpt("a"), ["", "", "text"]);
    }
}
