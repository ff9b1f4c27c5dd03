//! The requests of a row.

use adapter_kit::{Endpoint, Method};
use serde_json::{Map, Value};
use trainee_file::{FieldChange, List, NestedChange, NestedRow, TraineeRow, input};

use super::cells::write_body;
use super::{Work, WorkEnd};
use crate::upload::content::StoredRequest;

impl Work {
    /// A request about a trainee, or about a nested record of a list.
    fn stored(
        &self,
        endpoint: Endpoint,
        list: Option<List>,
        data: Map<String, Value>,
        columns: String,
    ) -> StoredRequest {
        let newest = self.state.versions.newest().filter(|_| !data.is_empty());
        let body = newest.map(|newest| {
            let data = write_body(newest.version, list, data);
            serde_json::json!({ newest.version.wire.envelope.request: data }).to_string()
        });
        StoredRequest::new(endpoint, body.unwrap_or_default(), columns)
    }

    /// Registers the trainee.
    pub(super) fn registration(&self, row: &TraineeRow) -> StoredRequest {
        self.stored(Endpoint::CreateTrainee, None, row.body(), String::new())
    }

    /// Shows a trainee.
    pub(super) fn show(&self) -> StoredRequest {
        StoredRequest::new(Endpoint::ShowTrainee, String::new(), String::new())
    }

    /// Changes fields of a trainee.
    pub(super) fn change(&self, changes: &[FieldChange]) -> StoredRequest {
        self.stored(Endpoint::UpdateTrainee, None, cells(changes), String::new())
    }

    /// Shows the nested record that a change is about; `None` for a record to add.
    pub(super) fn show_nested(
        &self,
        nested: &NestedChange,
    ) -> Result<Option<StoredRequest>, WorkEnd> {
        let NestedChange::Update { row, id, .. } = nested else {
            return Ok(None);
        };
        let show = endpoint(row.list, Method::Get, true)?;
        Ok(Some(StoredRequest {
            nested_id: id.clone(),
            ..StoredRequest::new(show, String::new(), row.column_name(""))
        }))
    }

    /// Adds or changes a nested record.
    pub(super) fn nested(&self, nested: &NestedChange) -> Result<StoredRequest, WorkEnd> {
        Ok(match nested {
            NestedChange::Add(row) => {
                let add = endpoint(row.list, Method::Post, false)?;
                self.stored(add, Some(row.list), row.body(), row.column_name(""))
            }
            NestedChange::Update { row, id, changes } => {
                let update = endpoint(row.list, Method::PutOrPatch, true)?;
                let columns = row.column_name("");
                StoredRequest {
                    nested_id: id.clone(),
                    ..self.stored(update, Some(row.list), cells(changes), columns)
                }
            }
        })
    }
}

/// The nested record of a change, and its fields that change. All filled cells of a record to add
/// are changes of blank fields.
pub(super) fn nested_fields(nested: &NestedChange) -> (&NestedRow, Vec<FieldChange>) {
    match nested {
        NestedChange::Update { row, changes, .. } => (row, changes.clone()),
        NestedChange::Add(row) => {
            let filled = row.fields.iter().filter(|(_, cell)| !cell.is_empty());
            let added = filled.map(|(field, cell)| FieldChange {
                field: field.clone(),
                shown: String::new(),
                cell: cell.clone(),
            });
            (row, added.collect())
        }
    }
}

fn cells(changes: &[FieldChange]) -> Map<String, Value> {
    let cells = changes.iter();
    cells
        .map(|change| (change.field.clone(), input(&change.cell)))
        .collect()
}

/// The endpoint of a method for a list of nested records, or for one record of it.
fn endpoint(list: List, method: Method, is_for_record: bool) -> Result<Endpoint, WorkEnd> {
    let mut path = format!("{}/{}", Endpoint::ShowTrainee.path(), list.name);
    if is_for_record {
        path = format!("{path}/{{{}}}", list.id);
    }
    let mut endpoints = Endpoint::ALL.iter().copied();
    endpoints
        .find(|endpoint| endpoint.method() == method && endpoint.path() == path)
        .ok_or(WorkEnd::NoEndpoint)
}

#[cfg(test)]
mod tests {
    use trainee_file::LISTS;

    use super::*;

    #[test]
    fn records_of_every_list_can_be_added_shown_and_changed() {
        for list in LISTS {
            assert!(endpoint(list, Method::Post, false).is_ok(), "{}", list.name);
            assert!(endpoint(list, Method::Get, true).is_ok(), "{}", list.name);
            assert!(
                endpoint(list, Method::PutOrPatch, true).is_ok(),
                "{}",
                list.name
            );
        }
    }
}
