//! The document about problem codes.

use domain::Code;

use super::{GENERATED, table};

/// The codes of problems with names and codes of other versions.
const ABOUT_VERSIONS: [Code; 3] = [
    Code::OtherVersionsName,
    Code::UnknownName,
    Code::UnknownCode,
];

/// Stands for links to the pages about moves between versions.
pub const MOVES: &str = "<!-- moves -->";

/// Returns the document about problem codes, with one row for each code.
#[must_use]
pub fn errors() -> String {
    let rows = Code::ALL.iter().map(|code| {
        let moves = if ABOUT_VERSIONS.contains(code) {
            MOVES
        } else {
            ""
        };
        let name = format!("`{}`", code.name());
        vec![
            name,
            code.meaning().to_owned(),
            format!("{}{moves}", code.remedy()),
        ]
    });
    format!(
        "# Problem codes\n\n{GENERATED}\n\n\
         If a response has status `422`, each problem has one of these codes. A code has the same\n\
         meaning in every version and is never reused. The [contract](api/7-errors.md) describes the other error members\n\
         and all other errors.\n\n\
         {}",
        table(&["code", "meaning", "remedy"], rows)
    )
}
