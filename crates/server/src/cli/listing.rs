//! Prints rows of text under headings, in columns.

/// Prints a table to standard output.
pub(super) fn print<const N: usize>(headings: [&str; N], rows: &[[String; N]]) {
    print!("{}", table(headings, rows));
}

fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let headings = headings.map(str::to_owned);
    let mut widths = [0; N];
    for row in std::iter::once(&headings).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["10000001".to_owned(), "Zoë".to_owned()], ["1".to_owned(), "A provider".to_owned()]];
        assert_eq!(table(["ukprn", "name"], &rows), "ukprn     name\n10000001  Zoë\n1         A provider\n");
    }
}
