//! The names of columns: those of the newest served version, whose rules a file is read by, found by
//! the names of all served versions.

use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireNested;
use adapter_kit::{Versions, WireRecord as _};
use domain::{Kind, RecordField as _, Trainee, for_each_nested};
use trainee_file::{Column, LISTS, Names};

/// Per nested list.
const OFFERED_RECORDS: usize = 3;

pub(crate) fn collect_names(versions: &Versions) -> Names {
    let mut names = Names::default();
    let Some(newest) = versions.newest() else {
        return names;
    };
    // The names of newer versions come first.
    for served in versions.iter().rev() {
        add_trainee(&mut names, newest.version, served.version);
        for_each_nested!(add_nested(&mut names, newest.version, served.version));
    }
    names
}

fn add_trainee(names: &mut Names, newest: &ApiVersion, version: &ApiVersion) {
    let inputs = Trainee::inputs(version);
    for input in inputs.entries {
        // The fields of nested records are columns of their own.
        if input.field.info().kind == Kind::Records {
            continue;
        }
        if let Some(field) = Trainee::inputs(newest).name_of(input.field) {
            names.add_field(input.name, field);
        }
    }
    for entry in version.shapes.trainee.entries {
        if inputs.input(entry.name).is_none() {
            names.add_read_only(entry.name);
        }
    }
}

fn add_nested<R: WireNested>(names: &mut Names, newest: &ApiVersion, version: &ApiVersion) {
    for input in R::inputs(version).entries {
        if let Some(field) = R::inputs(newest).name_of(input.field) {
            names.add_nested(R::LIST.info().name, input.name, field);
        }
    }
}

/// Lists the columns that a person can assign.
pub(crate) fn list_offered(names: &Names) -> Vec<Column> {
    let mut offered = vec![Column::Ignored, Column::TraineeId];
    offered.extend(names.fields().iter().cloned().map(Column::Field));
    for list in LISTS {
        for number in 1..=OFFERED_RECORDS {
            for field in names.nested_fields(list) {
                let field = field.clone();
                offered.push(Column::Nested {
                    list,
                    number,
                    field,
                });
            }
        }
    }
    offered
}

/// Finds a column by its label, or by a name that a heading can have.
pub(crate) fn find_column(names: &Names, text: &str) -> Option<Column> {
    let mut without_field = [Column::Ignored, Column::TraineeId, Column::UpdatedAt].into_iter();
    let labelled = without_field.find(|column| column.label().eq_ignore_ascii_case(text.trim()));
    labelled.or_else(|| names.recognise(text))
}

#[cfg(test)]
mod tests {
    use trainee_file::named_fields;

    use super::*;

    #[test]
    fn everyday_names_are_those_of_fields_in_the_newest_version() {
        let names = collect_names(versions::all());
        for name in named_fields() {
            let column = match name.split_once('.') {
                Some((list, field)) => format!("{list}.1.{field}"),
                None => name.to_owned(),
            };
            let found = names.recognise(&column).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some(column.as_str()));
        }
    }

    #[test]
    fn each_offered_column_is_found_by_its_label_and_its_name() {
        let names = collect_names(versions::all());
        for column in list_offered(&names) {
            assert_eq!(
                find_column(&names, &column.to_string()),
                Some(column.clone())
            );
            assert_eq!(find_column(&names, &column.label()), Some(column));
        }
    }
}
