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
use trainee_file::{CellKind, CodeNames, Codes, List};

pub(crate) struct NewestCodes<'a> {
    versions: &'a Versions,
    lists: &'a Lists,
    names: RefCell<HashMap<domain::List, CodeNames>>,
}

impl<'a> NewestCodes<'a> {
    pub(crate) fn new(versions: &'a Versions, lists: &'a Lists) -> Self {
        Self {
            versions,
            lists,
            names: RefCell::default(),
        }
    }

    /// Finds a code by its name in any case.
    fn find_by_name(&self, codes: domain::List, name: &str) -> Option<String> {
        // Each list is read once.
        let mut names = self.names.borrow_mut();
        let names = names.entry(codes).or_insert_with(|| {
            let entries = self.lists.entries(codes).iter();
            CodeNames::new(entries.map(|entry| (entry.code.as_str(), entry.name.as_str())))
        });
        names.find(name).map(str::to_owned)
    }

    fn find_field(&self, list: Option<List>, name: &str) -> Option<Field> {
        let version = self.versions.newest()?.version;
        let Some(list) = list else {
            return find_input::<Trainee>(version, name);
        };
        for_each_nested!(find_input_in(version, list, name))
            .into_iter()
            .flatten()
            .next()
    }
}

fn find_code_list(field: Field) -> Option<domain::List> {
    match field.info().codes {
        Some(FieldCodes::Listed(codes)) => Some(codes),
        Some(FieldCodes::OneOf(_)) | None => suggested_list(field),
    }
}

fn find_input<R: WireRecord>(version: &ApiVersion, name: &str) -> Option<Field> {
    let input = R::inputs(version).input(name)?;
    // Values in another form are not those that a spreadsheet changes.
    input.form.is_none().then(|| input.field.into())
}

fn find_input_in<R: WireNested>(version: &ApiVersion, list: List, name: &str) -> Option<Field> {
    let is_of_list = R::LIST.info().name == list.name;
    is_of_list.then(|| find_input::<R>(version, name)).flatten()
}

impl Codes for NewestCodes<'_> {
    fn kind(&self, list: Option<List>, field: &str) -> CellKind {
        let Some(field) = self.find_field(list, field) else {
            return CellKind::Text;
        };
        if let Some(lengths) = exact_lengths(field) {
            return CellKind::Digits(lengths);
        }
        if find_code_list(field).is_some() {
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
        let codes = find_code_list(self.find_field(list, field)?)?;
        // People write codes and names of codes.
        if self.lists.contains(codes, text) {
            return Some(text.to_owned());
        }
        self.find_by_name(codes, text)
    }
}
