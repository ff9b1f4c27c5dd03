//! Decodes the bytes of a file as text.

use std::borrow::Cow;
use std::str;

use encoding_rs::{Encoding, MACINTOSH, UTF_8, WINDOWS_1252};

use crate::cells::line_at;
use crate::fault::FileFault;

/// The first bytes of files of other formats, because some programs write them with the ending
/// `.csv`.
const OTHER_FORMATS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "an Excel workbook or a zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"<", "a web page or XML"),
    (b"{\\rtf", "a rich text document"),
];

/// Returns the text of a file. Unlike [`decode`], fails if the file has control characters.
///
/// # Errors
///
/// [`FileFault`] if the file has another format or bytes that are not text.
pub(crate) fn decode_text(bytes: &[u8]) -> Result<Cow<'_, str>, FileFault> {
    let text = decode(bytes)?;
    match text.find(is_no_text) {
        Some(at) => Err(FileFault::NotText(line_at(text.as_bytes(), at))),
        None => Ok(text),
    }
}

/// Returns the text of a file. A byte order mark selects UTF-8 or UTF-16. Without a mark, the file
/// is UTF-8 if it is valid UTF-8. Otherwise it is Mac Roman if its lines end with CR alone, or else
/// Windows-1252.
///
/// # Errors
///
/// [`FileFault`] if the file has another format or bytes that are not text.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, FileFault> {
    let (encoding, mark) =
        Encoding::for_bom(bytes).map_or((None, 0), |(encoding, length)| (Some(encoding), length));
    let content = bytes.get(mark..).unwrap_or_default();
    let start = content.trim_ascii_start();
    for (prefix, format) in OTHER_FORMATS {
        if start.starts_with(prefix) {
            return Err(FileFault::OtherFormat(format));
        }
    }
    match encoding {
        None => decode_unmarked(content),
        Some(encoding) if encoding == UTF_8 => match str::from_utf8(content) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => Err(FileFault::NotText(line_at(content, error.valid_up_to()))),
        },
        Some(encoding) => match encoding.decode_without_bom_handling(content) {
            (text, false) => Ok(text),
            (_, true) => Err(FileFault::NotText(1)),
        },
    }
}

/// Decodes text without a byte order mark. If some characters have several bytes in UTF-8, the file
/// was written as UTF-8. Bytes that are not UTF-8 are then errors, not letters of Windows-1252.
fn decode_unmarked(content: &[u8]) -> Result<Cow<'_, str>, FileFault> {
    let error = match str::from_utf8(content) {
        Ok(text) => return Ok(Cow::Borrowed(text)),
        Err(error) => error,
    };
    let has_utf_8 = content.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    if has_utf_8 {
        return Err(FileFault::MixedEncodings(line_at(
            content,
            error.valid_up_to(),
        )));
    }
    let encoding = if has_lines_of_mac_os(content) {
        MACINTOSH
    } else {
        WINDOWS_1252
    };
    Ok(encoding.decode_without_bom_handling(content).0)
}

/// Whether the lines end with CR alone, as Excel for Mac writes them in "CSV (Macintosh)".
fn has_lines_of_mac_os(content: &[u8]) -> bool {
    content.contains(&b'\r') && !content.contains(&b'\n')
}

/// Whether a character cannot be part of text: a control character, or one that replaces invalid
/// bytes.
pub(crate) fn is_no_text(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
        || character == '\u{fffd}'
}
