//! Unicode properties of text: visibility, and equal spellings.

use unicase::UniCase;
use unicode_normalization::UnicodeNormalization as _;
pub use visible_text::is_blank;
pub(crate) use visible_text::is_invisible;

/// Whether a parameter or a form field counts as not sent: the text is blank and has no control
/// characters except white space.
#[must_use]
pub fn is_absent(text: &str) -> bool {
    text.chars().all(|character| {
        is_invisible(character) && (character.is_whitespace() || !character.is_control())
    })
}

/// Trims the text. Returns `None` if the trimmed text is blank, is longer than `max` characters, or
/// has control characters such as line breaks.
#[must_use]
pub fn visible_line(text: &str, max: usize) -> Option<&str> {
    let line = text.trim();
    let is_valid =
        !is_blank(line) && line.chars().count() <= max && !line.contains(char::is_control);
    is_valid.then_some(line)
}

/// Returns the text with full case folding.
pub(crate) fn case_folded(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

/// Returns the text in the form `NFKC_Casefold`. The forms of two texts are equal if the texts
/// differ only in case, in compatible or composed characters, or in default ignorable characters.
#[must_use]
pub fn nfkc_casefold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = nfkc_casefold_once(text);
    // Repeats until another pass changes nothing.
    loop {
        let again = nfkc_casefold_once(&folded);
        if again == folded {
            return folded;
        }
        folded = again;
    }
}

/// One pass of [`nfkc_casefold`]. A case folding can produce characters that normalisation changes.
fn nfkc_casefold_once(text: &str) -> String {
    let decomposed: String = text
        .nfkd()
        .filter(|character| !visible_text::is_default_ignorable(*character))
        .collect();
    case_folded(&decomposed).nfkc().collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One character of each invisible kind.
    const INVISIBLE: [char; 16] = [
        ' ', '\t', '\n', '\0', '\u{7f}', '\u{85}', '\u{a0}', '\u{ad}', '\u{200b}', '\u{202e}',
        '\u{2060}', '\u{2800}', '\u{3000}', '\u{3164}', '\u{fe0f}', '\u{feff}',
    ];

    /// Returns the blocks of all characters that normalisation or case folding can change.
    pub(crate) fn characters() -> impl Iterator<Item = char> {
        let blocks = [
            '\0'..='\u{33ff}',
            '\u{a640}'..='\u{ac20}',
            '\u{d780}'..='\u{ffff}',
            '\u{10000}'..='\u{1ffff}',
            '\u{2f800}'..='\u{2faff}',
            '\u{e0000}'..='\u{e0fff}',
        ];
        blocks.into_iter().flatten()
    }

    #[test]
    fn text_of_invisible_characters_is_blank() {
        assert!(is_blank("") && is_absent(""));
        for character in INVISIBLE.into_iter().chain([
            '\u{600}',
            '\u{115f}',
            '\u{e0001}',
            '\u{e0100}',
            '\u{1d173}',
        ]) {
            assert!(
                is_blank(&format!(" {character}{character}")),
                "{character:?}"
            );
            assert!(
                !is_blank(&format!("{character}x{character}")),
                "{character:?}"
            );
            let is_refused = character.is_control() && !character.is_whitespace();
            assert_eq!(
                is_absent(&character.to_string()),
                !is_refused,
                "{character:?}"
            );
        }
    }

    #[test]
    fn text_with_visible_character_is_present() {
        for text in [
            "a",
            "-",
            "0",
            "'",
            "\u{301}",
            "李",
            "\u{2801}",
            "\u{fffd}",
            "👩\u{200d}🎓",
        ] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn visible_line_is_trimmed_and_bounded() {
        assert_eq!(visible_line(" A b ", 3), Some("A b"));
        for text in ["", " ", "\u{200b}", "a\nb", "a\u{1b}b", "abcd"] {
            assert_eq!(visible_line(text, 3), None, "{text:?}");
        }
    }

    #[test]
    fn equal_spellings_fold_to_one_form() {
        for (one, other) in [
            ("Zoë", "ZOE\u{308}"),
            ("Straße", "STRASSE"),
            ("Straße", "STRAẞE"),
            ("ﬁona", "FIONA"),
            ("Ｏｋａｆｏｒ", "okafor"),
            ("ΝΊΚΟΣ", "νίκος"),
            ("ΝΊΚΟΣ", "νίκοσ"),
            ("İnan", "i\u{307}nan"),
            ("Ann\u{ad}a\u{200d}", "anna"),
            ("\u{212b}kesson", "åkesson"),
            ("Ǆ", "dž"),
            ("ᾳ", "αι"),
            ("가", "\u{1100}\u{1161}"),
        ] {
            assert_eq!(nfkc_casefold(one), nfkc_casefold(other), "{one} {other}");
        }
        for (one, other) in [
            ("i", "ı"),
            ("Zoë", "Zoe"),
            ("a%", "ab"),
            ("a_", "ab"),
            ("李", "王"),
            ("Ann Lee", "AnnLee"),
        ] {
            assert_ne!(nfkc_casefold(one), nfkc_casefold(other), "{one} {other}");
        }
    }

    #[test]
    fn folded_form_is_stable_for_spellings() {
        for character in characters() {
            let folded = nfkc_casefold(&character.to_string());
            assert_eq!(nfkc_casefold(&folded), folded, "{character:?}");
            let marked = format!("{character}\u{345}\u{301}");
            for text in [character.to_string(), marked] {
                let expected = nfkc_casefold(&text);
                assert_eq!(
                    nfkc_casefold(&text.nfc().collect::<String>()),
                    expected,
                    "{text:?}"
                );
                assert_eq!(
                    nfkc_casefold(&text.nfd().collect::<String>()),
                    expected,
                    "{text:?}"
                );
            }
            assert_eq!(
                nfkc_casefold(&case_folded(&character.to_string())),
                folded,
                "{character:?}"
            );
        }
    }
}
