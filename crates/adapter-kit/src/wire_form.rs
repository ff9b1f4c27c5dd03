//! The form of a version's JSON: words instead of codes, members around records, and errors.
//!
//! [`Wire::COMMON`] is the default. A new difference becomes a member of [`Wire`] with a default in
//! `COMMON`. Released versions then need no change.

use domain::List;
use domain::fields::field::Codes;
use domain::listing::{DEFAULT_PER_PAGE, MAX_PER_PAGE};

use crate::endpoint::{Endpoint, EndpointRow};
use crate::error_body::ErrorBody;
use crate::problem_form::{ErrorContext, ProblemForm};

/// The form of a version's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Words instead of codes, in requests and in responses. Each code of a list must have exactly
    /// one word, and words must be unique. A stored code that is not in the list is shown as it is.
    pub words: &'static [(List, Words)],
    /// The JSON members around records.
    pub envelope: Envelope,
    /// The form of errors.
    pub problems: ProblemForm,
    /// Endpoints with another method, path or status. A row changes the row of the endpoint:
    /// `EndpointRow { path: "/...", ..*Endpoint::Withdraw.row() }`.
    pub endpoints: &'static [(Endpoint, EndpointRow)],
}

/// Pairs of a code and its word.
pub type Words = &'static [(&'static str, &'static str)];

impl Wire {
    /// The default form.
    pub const COMMON: Self = Self {
        words: &[],
        envelope: Envelope::COMMON,
        problems: ProblemForm::ERRORS,
        endpoints: &[],
    };

    /// Returns the body of an error reply as JSON.
    #[must_use]
    pub fn write_error(&self, body: &ErrorBody, status: u16) -> Vec<u8> {
        let context = ErrorContext {
            status,
            request_key: self.envelope.request,
        };
        // Structs, lists and maps with strings as keys can always be written as JSON.
        (self.problems.write)(body, context).unwrap_or_default()
    }

    /// Returns the words for the codes of a field, or `None` if the version writes the codes.
    #[must_use]
    pub fn words_of(&self, codes: Option<Codes>) -> Option<Words> {
        match codes {
            Some(Codes::Listed(list)) => self.words_of_list(list),
            Some(Codes::OneOf(_)) | None => None,
        }
    }

    /// Returns the words for the codes of a list, or `None` if the version writes the codes.
    #[must_use]
    pub fn words_of_list(&self, list: List) -> Option<Words> {
        self.words
            .iter()
            .find(|(known, _)| *known == list)
            .map(|(_, words)| *words)
    }

    /// Returns a value of a field as the version writes it.
    #[must_use]
    pub fn written_in<'a>(&self, codes: Option<Codes>, value: &'a str) -> &'a str {
        self.words_of(codes)
            .map_or(value, |words| word_of(words, value))
    }

    /// Returns a code of a list as the version writes it.
    #[must_use]
    pub fn written<'a>(&self, list: List, code: &'a str) -> &'a str {
        self.words_of_list(list)
            .map_or(code, |words| word_of(words, code))
    }
}

/// Returns the word for a code, or the code if it has no word.
#[must_use]
pub fn word_of(words: Words, code: &str) -> &str {
    word_for(words, code).unwrap_or(code)
}

/// Returns the word for a code, or `None` if the code has no word.
#[must_use]
pub fn word_for(words: Words, code: &str) -> Option<&'static str> {
    words
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, word)| *word)
}

/// Returns the code of a word, or `None` for an unknown word.
#[must_use]
pub fn code_of(words: Words, word: &str) -> Option<&'static str> {
    words
        .iter()
        .find(|(_, known)| *known == word)
        .map(|(code, _)| *code)
}

/// The JSON members around records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The key of the records in a page of trainees and in a list of nested records.
    pub list: &'static str,
    /// The object with the position of a page: its name, and its members in order. If the name is
    /// empty, the members are next to the list.
    pub page: (&'static str, &'static [(&'static str, PageMember)]),
    /// The number of trainees on a page.
    pub page_size: PageSize,
    /// The key of the record in a response with one record.
    pub record: &'static str,
    /// The key of the record in a request body.
    pub request: &'static str,
    /// Whether a response with one record has its URL as `links.self`.
    pub record_links: bool,
}

impl Envelope {
    /// The default members.
    pub const COMMON: Self = Self {
        list: DATA,
        page_size: PageSize::new(DEFAULT_PER_PAGE, MAX_PER_PAGE),
        page: (
            "meta",
            &[
                ("current_page", PageMember::Number),
                ("total_pages", PageMember::Pages),
                ("total_count", PageMember::Total),
                ("per_page", PageMember::PerPage),
            ],
        ),
        record: DATA,
        request: DATA,
        record_links: false,
    };
}

/// The key of the content of requests and replies, except where a version changes it.
pub const DATA: &str = "data";

/// The number of records on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    default: i64,
    max: i64,
}

impl PageSize {
    /// Returns the sizes of pages: without `per_page` in the request, and at most.
    ///
    /// # Panics
    ///
    /// Panics unless `1 <= default <= max <= MAX_PER_PAGE`. In the constant of a version, this is an
    /// error of the compiler.
    #[must_use]
    pub const fn new(default: i64, max: i64) -> Self {
        assert!(1 <= default, "a page has at least one record");
        assert!(default <= max, "the default is more than the largest size");
        assert!(
            max <= MAX_PER_PAGE,
            "the largest size is more than MAX_PER_PAGE"
        );
        Self { default, max }
    }

    /// Returns the number if the request has no `per_page`.
    #[must_use]
    pub const fn default(self) -> i64 {
        self.default
    }

    /// Returns the largest number.
    #[must_use]
    pub const fn max(self) -> i64 {
        self.max
    }
}

/// A member with the position of a page. Pages requested by cursor lack `Number`, `Pages` and
/// `Total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMember {
    /// The number of the page, from 1.
    Number,
    /// The number of pages.
    Pages,
    /// The number of records on all pages.
    Total,
    /// The maximum number of records on a page.
    PerPage,
    /// The URL of the next page; null on the last page.
    Next,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the largest size is more than MAX_PER_PAGE")]
    fn page_size_above_limit_panics() {
        let _ = PageSize::new(DEFAULT_PER_PAGE, MAX_PER_PAGE + 1);
    }
}
