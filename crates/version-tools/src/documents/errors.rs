//! The document about problem codes.

use domain::Code;

use super::{GENERATED, Table};

/// Returns the document about problem codes, with one row for each code.
#[must_use]
pub fn errors() -> String {
    let mut table = Table::new(["code", "meaning", "remedy"]);
    for code in Code::ALL {
        table.row([&format!("`{}`", code.name()), code.meaning(), code.remedy()]);
    }
    format!(
        "# Problem codes\n\n{GENERATED}\n\n\
         If a response has status `422`, each problem in `errors` has one of these codes in `code`. A code has the same\n\
         meaning in every version and is never reused. The [contract](api/7-errors.md) describes the other error members\n\
         and all other errors.\n\n\
         {}",
        table.0
    )
}
