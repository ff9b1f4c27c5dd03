//! Functions are named by verbs; constructors are `new`, `from_*`, `with_*` or `try_*`.

use crate::sources::is_word;

use super::Breach;

/// Prepositions that no constructor and no free function is named after.
const PREPOSITIONS: &[&str] = &["over", "within", "to", "behind", "about", "beside"];
const ADVICE: &str = "name it new, from_* or with_*, or after a verb";

/// The functions of one file that have a preposition for a name.
pub(super) fn check(path: &str, text: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((name, parameters)) = find_function(line) else {
            continue;
        };
        let is_method = parameters
            .trim_start_matches(['&', '('])
            .trim_start_matches("mut ")
            .starts_with("self");
        let is_preposition = PREPOSITIONS.contains(&name) && !is_method;
        if name == "of" || name.starts_with("of_") || is_preposition {
            breaches.push(Breach::new(path, number + 1, &format!("fn {name}"), ADVICE));
        }
    }
    breaches
}

/// The name of the function that a line declares, and what follows the name.
fn find_function(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let code = if line.starts_with("//") || line.contains('"') {
        None
    } else {
        Some(line)
    }?;
    let (before, declaration) = code.split_once("fn ")?;
    if before.ends_with(is_word) {
        return None;
    }
    let end = declaration.find(|c| !is_word(c))?;
    Some(declaration.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepositions_are_no_names_of_functions() {
        let found = |line: &str| check("a.rs", line).len();
        for line in [
            "pub fn of(a: u8)",
            "    pub(crate) const fn of_status(status: u16)",
            "fn over(site: Site)",
        ] {
            assert_eq!(found(line), 1, "{line}");
        }
        for line in [
            "fn over(&self)",
            "fn offset(a: u8)",
            "fn to_text(&self)",
            "/// fn of(a)",
            "fn new(of: u8)",
        ] {
            assert_eq!(found(line), 0, "{line}");
        }
    }
}
