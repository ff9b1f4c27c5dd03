//! The list of codes of problems.

use domain::Code;

use super::{GENERATED, Table};

/// The document about codes of problems: one row for each code.
#[must_use]
pub fn errors() -> String {
    let mut table = Table::new(["code", "meaning", "remedy"]);
    for code in Code::ALL {
        table.row([&format!("`{}`", code.name()), code.meaning(), code.remedy()]);
    }
    format!(
        "# Codes of problems\n\n{GENERATED}\n\n\
         Each problem in the `errors` of a `422` has one of these as its `code`: the same in every version, and never given\n\
         to another problem. What else is in an error, and which other errors there are, is in the [contract](api.md#7-errors).\n\n\
         {}",
        table.0
    )
}
