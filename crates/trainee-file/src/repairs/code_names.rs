//! The codes of a list by the names that people write in their place.

use std::collections::HashMap;

/// The codes of a list by their names, ignoring case.
#[derive(Debug, Clone, Default)]
pub struct CodeNames {
    /// `None` for a name of several codes.
    codes: HashMap<String, Option<String>>,
}

impl CodeNames {
    /// Collects the codes with their names. The last part of a name finds its code too, such as
    /// `African` for `Black - African or African British`, unless it is the name of another code.
    #[must_use]
    pub fn new<'a>(entries: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let mut names = Self::default();
        for (code, name) in entries.clone() {
            add(&mut names.codes, name, code);
        }
        let mut parts = HashMap::new();
        for (code, name) in entries {
            if let Some(part) = last_part(name) {
                add(&mut parts, part, code);
            }
        }
        for (part, code) in parts {
            names.codes.entry(part).or_insert(code);
        }
        names
    }

    /// Returns the code with this name; `None` if there is none, or if there are several.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&str> {
        self.codes.get(&name.to_lowercase())?.as_deref()
    }
}

fn add(codes: &mut HashMap<String, Option<String>>, name: &str, code: &str) {
    codes
        .entry(name.to_lowercase())
        .and_modify(|known| *known = None)
        .or_insert_with(|| Some(code.to_owned()));
}

/// The part of a name after its group, without its second form; `None` for a name without a group.
fn last_part(name: &str) -> Option<&str> {
    let (_, part) = name.split_once(" - ")?;
    Some(part.split_once(" or ").map_or(part, |(first, _)| first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_or_last_part_finds_the_only_code() {
        let names = CodeNames::new(
            [
                ("120", "Black - African or African British"),
                ("121", "Black - Caribbean"),
                ("160", "White - British"),
                ("161", "Other - British"),
                ("899", "Caribbean"),
                ("01", "Twice"),
                ("02", "Twice"),
            ]
            .into_iter(),
        );
        for (name, code) in [
            ("african", Some("120")),
            ("Black - African or African British", Some("120")),
            ("Caribbean", Some("899")),
            ("British", None),
            ("Twice", None),
            ("Black", None),
        ] {
            assert_eq!(names.find(name), code, "{name}");
        }
    }
}
