//! Reads the signatures of functions as rustfmt writes them.

use crate::sources::is_word;

/// What stands before the `fn` of a function.
const QUALIFIERS: &[&str] = &["default ", "const ", "async ", "unsafe "];

/// Returns the name of the function that a trimmed line declares.
pub(super) fn read_name(trimmed: &str) -> Option<&str> {
    let mut rest = trimmed;
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(scope) => scope.split_once(") ")?.1,
            None => public.strip_prefix(' ')?,
        };
    }
    for qualifier in QUALIFIERS {
        rest = rest.strip_prefix(qualifier).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?.split(|c| !is_word(c)).next()?;
    Some(name).filter(|name| !name.is_empty())
}

/// Counts the tuple types in the parameters and the return of a function. The empty tuple, and the
/// parameters of a function type, are none.
pub(super) fn count_tuples(lines: &[&str]) -> usize {
    let end = lines
        .iter()
        .position(|line| line.ends_with(['{', ';', '}']));
    let signature = lines.get(..=end.unwrap_or(0)).unwrap_or(lines).join(" ");
    let signature = signature.split(" {").next().unwrap_or_default();
    let signature = signature.replace("->", "");
    let opened = signature.match_indices('(');
    // The first parenthesis begins the parameters.
    opened
        .skip(1)
        .filter(|(at, _)| begins_tuple(&signature, *at))
        .count()
}

fn begins_tuple(signature: &str, at: usize) -> bool {
    let (before, after) = signature.split_at(at);
    let follows_name = before.ends_with(|c| is_word(c) || c == '>');
    let mut depth = 0_usize;
    let mut has_comma = false;
    for (offset, c) in after.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth = depth.saturating_sub(1),
            ',' => has_comma |= depth == 1,
            _ => {}
        }
        if depth == 0 {
            // A pattern of a parameter is followed by its type.
            let is_pattern = after
                .get(offset + 1..)
                .is_some_and(|rest| rest.starts_with(':'));
            return has_comma && !follows_name && !is_pattern;
        }
    }
    false
}
