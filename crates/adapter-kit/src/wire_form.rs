//! How a version writes what it has: words in place of codes, the JSON members around records, and
//! the form of errors.
//!
//! [`Wire::COMMON`] is the form of the versions that differ in none of these. A new way to differ is a member of [`Wire`] with
//! a value in `COMMON`, so that no released version has to be edited.

use domain::List;
use domain::fields::field::Codes;

/// How a version writes what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Words in place of the codes of lists, in requests and in responses. The words of a list are
    /// total: each of its codes has one, and no two have the same. A stored code that is not in the
    /// list is shown as it is stored.
    pub words: &'static [(List, Words)],
    /// The JSON members around records.
    pub envelope: Envelope,
    /// The form of errors.
    pub problems: ProblemForm,
}

/// The words for the codes of a list: each code with its word.
pub type Words = &'static [(&'static str, &'static str)];

impl Wire {
    /// The common form.
    pub const COMMON: Self = Self {
        words: &[],
        envelope: Envelope::COMMON,
        problems: ProblemForm::Errors,
    };

    /// The words for the codes of a field; `None` where the version writes the codes themselves.
    #[must_use]
    pub fn words_of(&self, codes: Option<Codes>) -> Option<Words> {
        match codes {
            Some(Codes::Listed(list)) => self.words_of_list(list),
            Some(Codes::OneOf(_)) | None => None,
        }
    }

    /// The words for the codes of a list.
    #[must_use]
    pub fn words_of_list(&self, list: List) -> Option<Words> {
        self.words
            .iter()
            .find(|(known, _)| *known == list)
            .map(|(_, words)| *words)
    }

    /// A value of a field as the version writes it.
    #[must_use]
    pub fn written_in<'a>(&self, codes: Option<Codes>, value: &'a str) -> &'a str {
        self.words_of(codes)
            .map_or(value, |words| word_of(words, value))
    }

    /// A code of a list as the version writes it.
    #[must_use]
    pub fn written<'a>(&self, list: List, code: &'a str) -> &'a str {
        self.words_of_list(list)
            .map_or(code, |words| word_of(words, code))
    }
}

/// The word for a code; the code itself where it has none.
#[must_use]
pub fn word_of(words: Words, code: &str) -> &str {
    word_for(words, code).unwrap_or(code)
}

/// The word for a code, if it has one.
#[must_use]
pub fn word_for(words: Words, code: &str) -> Option<&'static str> {
    words
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, word)| *word)
}

/// The code that a word stands for.
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
    /// What a page of trainees says about itself: the name, and the members in order.
    pub page: (&'static str, &'static [(&'static str, PageMember)]),
    /// Whether the response with one record has its address, as `links.self`.
    pub record_links: bool,
}

impl Envelope {
    /// The common form.
    pub const COMMON: Self = Self {
        page: (
            "meta",
            &[
                ("current_page", PageMember::Number),
                ("total_pages", PageMember::Pages),
                ("total_count", PageMember::Total),
                ("per_page", PageMember::PerPage),
            ],
        ),
        record_links: false,
    };
}

/// What a page says about itself. A page that was reached by a cursor has no number, and neither
/// the number of pages nor that of records: they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMember {
    /// The number of the page, from 1.
    Number,
    /// How many pages there are.
    Pages,
    /// How many records there are.
    Total,
    /// The most records on a page.
    PerPage,
    /// The address of the next page; null on the last one.
    Next,
}

/// The form of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemForm {
    /// `{"errors": [{"error", "message", "code", "field"}]}`, and other forms of this service
    /// beside it.
    Errors,
    /// Problem details (RFC 9457) with one entry of `errors` for each problem, at a JSON pointer.
    Details,
}

impl ProblemForm {
    /// The media type of an error.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Errors => "application/json",
            Self::Details => "application/problem+json",
        }
    }
}
