//! The kinds and the code lists of the fields of the newest version, for finding the cells that a
//! spreadsheet has changed.

use std::cell::RefCell;
use std::collections::HashMap;

use adapter_kit::wire::{WireNested, WireRecord};
use adapter_kit::{ApiVersion, Versions};
use domain::fields::field::Codes as FieldCodes;
use domain::rules::personal::exact_lengths;
use domain::{Field, Kind, Lists, RecordField as _, Trainee, for_each_nested};
use trainee_file::{CellKind, Codes, List};

/// The codes of the newest version.
pub(crate) struct NewestCodes<'a> {
    versions: &'a Versions,
    lists: &'a Lists,
    names: RefCell<HashMap<domain::List, CodesByName<'a>>>,
}

/// The codes of a list by their names in lower case; `None` for a name of several codes.
type CodesByName<'a> = HashMap<String, Option<&'a str>>;

impl<'a> NewestCodes<'a> {
    pub(crate) fn new(versions: &'a Versions, lists: &'a Lists) -> Self {
        Self {
            versions,
            lists,
            names: RefCell::default(),
        }
    }

    /// The code with a name in any case. Each list is read once.
    fn code_by_name(&self, codes: domain::List, name: &str) -> Option<String> {
        let mut names = self.names.borrow_mut();
        let names = names
            .entry(codes)
            .or_insert_with(|| codes_by_name(self.lists, codes));
        let code = names.get(&name.to_lowercase()).copied().flatten()?;
        Some(code.to_owned())
    }

    fn field(&self, list: Option<List>, name: &str) -> Option<Field> {
        let version = self.versions.newest()?.version;
        let Some(list) = list else {
            return named::<Trainee>(version, name);
        };
        for_each_nested!(named_in(version, list, name))
            .into_iter()
            .flatten()
            .next()
    }
}

fn codes_by_name(lists: &Lists, codes: domain::List) -> CodesByName<'_> {
    let mut names = CodesByName::new();
    for entry in lists.entries(codes) {
        names
            .entry(entry.name.to_lowercase())
            .and_modify(|code| *code = None)
            .or_insert(Some(entry.code.as_str()));
    }
    names
}

fn named<R: WireRecord>(version: &ApiVersion, name: &str) -> Option<Field> {
    let input = R::inputs(version).input(name)?;
    Some(input.field.into())
}

fn named_in<R: WireNested>(version: &ApiVersion, list: List, name: &str) -> Option<Field> {
    let is_of_list = R::LIST.info().name == list.name;
    is_of_list.then(|| named::<R>(version, name)).flatten()
}

impl Codes for NewestCodes<'_> {
    fn kind(&self, list: Option<List>, field: &str) -> CellKind {
        let Some(field) = self.field(list, field) else {
            return CellKind::Text;
        };
        if let Some(lengths) = exact_lengths(field) {
            return CellKind::Digits(lengths);
        }
        let info = field.info();
        match (info.kind, info.codes) {
            (Kind::Date, _) => CellKind::Date,
            (_, Some(FieldCodes::Listed(_))) => CellKind::Code,
            _ => CellKind::Text,
        }
    }

    fn code(&self, list: Option<List>, field: &str, text: &str) -> Option<String> {
        let Some(FieldCodes::Listed(codes)) = self.field(list, field)?.info().codes else {
            return None;
        };
        if self.lists.contains(codes, text) {
            return Some(text.to_owned());
        }
        self.code_by_name(codes, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_codes_are_found_unless_ambiguous() {
        let lists = Lists::embedded();
        for codes in domain::List::ALL {
            let found = codes_by_name(lists, *codes);
            let entries = lists.entries(*codes);
            let mut ambiguous = 0;
            for entry in entries {
                match found[&entry.name.to_lowercase()] {
                    Some(code) => assert_eq!(code, entry.code),
                    None => ambiguous += 1,
                }
            }
            assert_ne!(ambiguous, 1, "{}", codes.name());
            assert_eq!(found.is_empty(), entries.is_empty());
        }
    }
}
