//! The kinds and the code lists of the fields of the newest version, for finding the cells that a
//! spreadsheet has changed.

use std::cell::RefCell;
use std::collections::HashMap;

use adapter_kit::wire::{WireNested, WireRecord};
use adapter_kit::{ApiVersion, Versions};
use domain::fields::field::Codes as FieldCodes;
use domain::rules::degree::suggested_list;
use domain::rules::personal::exact_lengths;
use domain::{Field, Kind, Lists, RecordField as _, Trainee, TraineeField, for_each_nested};
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

/// The codes of a list by name, and those of ethnicities also by background. A background that is
/// the name of another entry, or that several entries share, finds no code.
fn codes_by_name(lists: &Lists, codes: domain::List) -> CodesByName<'_> {
    let mut names = CodesByName::new();
    let mut add = |name: &str, code| {
        names
            .entry(name.to_lowercase())
            .and_modify(|known| *known = known.filter(|known| *known == code))
            .or_insert(Some(code));
    };
    for entry in lists.entries(codes) {
        add(&entry.name, entry.code.as_str());
        if codes == domain::List::Ethnicity
            && let Some(ethnicity) = lists.ethnicity(&entry.code)
        {
            add(&ethnicity.background, entry.code.as_str());
        }
    }
    names
}

/// The code list of a field; `None` if it has none.
fn code_list(field: Field) -> Option<domain::List> {
    match field.info().codes {
        Some(FieldCodes::Listed(codes)) => Some(codes),
        Some(FieldCodes::OneOf(_)) | None => suggested_list(field),
    }
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
        if code_list(field).is_some() {
            return CellKind::Code;
        }
        match field.info().kind {
            Kind::Date if field == TraineeField::date_of_birth.into() => CellKind::BirthDate,
            Kind::Date => CellKind::Date,
            Kind::Year => CellKind::Year,
            Kind::Text
            | Kind::Integer
            | Kind::Boolean
            | Kind::Timestamp
            | Kind::TextList
            | Kind::Document
            | Kind::Uuid
            | Kind::Records => CellKind::Text,
        }
    }

    fn code(&self, list: Option<List>, field: &str, text: &str) -> Option<String> {
        let codes = code_list(self.field(list, field)?)?;
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
