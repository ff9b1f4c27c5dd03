//! The kinds and the code lists of the fields of the newest version, for finding the cells that a
//! spreadsheet has changed.

use adapter_kit::wire::{WireNested, WireRecord};
use adapter_kit::{ApiVersion, Versions};
use domain::fields::field::Codes as FieldCodes;
use domain::rules::personal::exact_lengths;
use domain::{Field, Kind, Lists, RecordField as _, Trainee, for_each_nested};
use trainee_file::{CellKind, Codes, List};

/// The codes of the newest version.
pub(crate) struct NewestCodes<'a> {
    pub(crate) versions: &'a Versions,
    pub(crate) lists: &'a Lists,
}

impl NewestCodes<'_> {
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
        let wanted = text.to_lowercase();
        let entries = self.lists.entries(codes).iter();
        let mut found = entries.filter(|entry| entry.name.to_lowercase() == wanted);
        let entry = found.next()?;
        found.next().is_none().then(|| entry.code.clone())
    }
}
