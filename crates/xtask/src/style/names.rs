//! Checks that names are terms of the field (docs/architecture.md, Glossary).

use crate::sources::{Sources, is_word};

use super::Breach;

/// Words that the code must not coin names from, and the term in their place. With `s?` the word
/// may have an s at its end.
const COINED: &[(&str, &str)] = &[
    ("asked", "Route, requested"),
    ("unusable", "BodyError"),
    ("reception", "BodyReader"),
    ("life", "deprecation headers"),
    ("told", "reported"),
    ("tells?", "report, render"),
    ("allowances?", "rate limit"),
    ("visitors?", "rate limit by address"),
    ("measures?", "metrics"),
    ("witness", "usage recorder"),
    ("sightings?", "request observation"),
    ("deeds?", "registry action"),
    ("upkeep", "maintenance"),
    ("swept", "expired rows deleted"),
    ("settles?", "drain"),
    ("likeness", "duplicate key"),
    ("touches", "changes_any"),
    ("unheard", "names of other versions only"),
    ("misnamed", "unrecognised names"),
    ("laws?", "conformance checks"),
    ("blind", "updates touch only what was sent"),
    ("sturdy", "no input panics"),
    ("inhabited", "can be seeded"),
    ("fates?", "key mapping"),
    ("spelt", "encoded"),
    ("remarks?", "finding"),
    ("specimens?", "fixture, sample"),
    ("roughen", "add noise"),
    ("moments?", "timestamp"),
];

/// Names that must stay, and why.
const EXCEPTIONS: &[&str] = &[
    // The pattern of that name.
    "Visitor",
    // The end of life of a version or an endpoint.
    "EndOfLife",
];

/// Keywords before a declared name. Uses of items, fields and variants are not distinguished from
/// other words.
const DECLARATIONS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "mod",
    "const",
    "static",
    "union",
    "macro_rules!",
];

/// Where names are declared.
const CODE: &[&str] = &[
    "crates",
    "fuzz/fuzz_targets",
    "clients/trainee-sync/src",
    "bench/plain/src",
];
/// Where the names of files count.
const FILES: &[&str] = &[
    "crates",
    "deploy",
    "docs",
    "scripts",
    "clients/trainee-sync/src",
    "bench/plain/src",
];

/// The names of items, files and metrics that are coined.
pub(super) fn check(sources: &Sources) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in sources.below(CODE, ".rs") {
        for (number, line) in text.lines().enumerate() {
            let mut names = declared_names(line);
            if path.contains("/src/") {
                names.extend(metric_names(line));
            }
            let coined = names
                .into_iter()
                .filter_map(|name| Some((name, find_term(name)?)));
            breaches.extend(coined.map(|(name, term)| Breach::new(path, number + 1, name, term)));
        }
    }
    for (path, _) in sources.below(FILES, "") {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(term) = find_term(name).filter(|_| !path.contains("/templates/")) {
            breaches.push(Breach::new(path, 0, name, term));
        }
    }
    breaches
}

/// The names that a line declares.
fn declared_names(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let declared = words.windows(2).filter_map(|pair| {
        let [keyword, name] = pair else { return None };
        // Also behind a bracket, such as `(fn name`.
        let keyword = keyword.rsplit(|c| !is_word(c) && c != '!').next()?;
        let name = name.split(|c| !is_word(c)).next()?;
        let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        (DECLARATIONS.contains(&keyword) && is_name).then_some(name)
    });
    declared.collect()
}

/// The names of metrics that stand in quotes.
fn metric_names(line: &str) -> impl Iterator<Item = &str> {
    let is_metric = |text: &&str| {
        text.starts_with("register_") && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    line.split('"').filter(is_metric)
}

/// The term to use instead, if a word of the name is coined. Words are distinguished in `CamelCase`
/// and `snake_case` alike.
fn find_term(name: &str) -> Option<&'static str> {
    if EXCEPTIONS.contains(&name) {
        return None;
    }
    let mut words = String::new();
    let mut previous = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit()) {
            words.push('_');
        }
        words.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        });
        previous = c;
    }
    words
        .split('_')
        .find_map(|word| COINED.iter().find(|(coined, _)| is_form_of(word, coined)))
        .map(|(_, term)| *term)
}

/// Whether a word is the coined one, which may have an optional s at its end.
fn is_form_of(word: &str, coined: &str) -> bool {
    match coined.strip_suffix("s?") {
        Some(singular) => word
            .strip_prefix(singular)
            .is_some_and(|rest| ["", "s"].contains(&rest)),
        None => word == coined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Sources::from([(path, text)]))
            .into_iter()
            .map(|breach| (breach.line, breach.found))
            .collect()
    }

    /// A declaration, which stands in no line of this file.
    fn declare(keyword: &str, name: &str) -> String {
        format!("pub {keyword} {name}(a: u8) {{}}")
    }

    #[test]
    fn terms_uses_and_exceptions_pass() {
        let text = format!(
            "{}\n{}\nlet told = swept;\n",
            declare("fn", "untold"),
            declare("trait", "Visitor")
        );
        assert_eq!(breaches("crates/c/src/reported.rs", &text), []);
    }

    #[test]
    fn coined_names_are_found_in_any_spelling() {
        for (keyword, name) in [
            ("fn", "rows_swept"),
            ("struct", "BodyLaws"),
            ("const", "LAWS_OF_BODIES"),
            ("macro_rules!", "law"),
            ("type", "Http2Remark"),
        ] {
            let text = format!("\n{}", declare(keyword, name));
            assert_eq!(
                breaches("crates/c/tests/a.rs", &text),
                [(2, name.to_owned())]
            );
        }
    }

    #[test]
    fn files_and_metrics_have_terms_for_names() {
        assert_eq!(
            breaches("docs/upkeep.md", ""),
            [(0, "upkeep.md".to_owned())]
        );
        let metric = format!("\"register_{}_total\"", "swept");
        assert_eq!(breaches("crates/c/src/a.rs", &metric).len(), 1);
        assert_eq!(breaches("crates/c/tests/a.rs", &metric), []);
    }
}
