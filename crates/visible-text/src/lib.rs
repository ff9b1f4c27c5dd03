//! Which characters of a text are visible. Requests, imports and files of trainees share this
//! definition of a blank text.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// The Braille pattern without dots. Fonts draw it as a space.
const BRAILLE_BLANK: char = '\u{2800}';

/// Whether the text has no visible character.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_invisible)
}

/// Whether the character is white space, a control or format character, ignorable, or drawn as a
/// space.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || (!character.is_ascii()
            && (character == BRAILLE_BLANK
                || is_default_ignorable(character)
                || CodePointMapData::<GeneralCategory>::new().get(character)
                    == GeneralCategory::Format))
}

/// Whether Unicode recommends that programs without support for the character do not show it.
#[must_use]
pub fn is_default_ignorable(character: char) -> bool {
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}
