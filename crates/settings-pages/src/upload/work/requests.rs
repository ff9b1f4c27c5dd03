//! The requests of a row.

use adapter_kit::{Endpoint, Method};
use serde_json::{Map, Value};
use trainee_file::{FieldChange, List, NestedChange, TraineeRow, input};

use super::cells::write_body;
use super::{Work, WorkEnd};
use crate::upload::content::StoredRequest;

impl Work {
    fn compose(
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

    pub(super) fn compose_registration(&self, row: &TraineeRow) -> StoredRequest {
        self.compose(Endpoint::CreateTrainee, None, row.body(), String::new())
    }

    pub(super) fn compose_show(&self) -> StoredRequest {
        StoredRequest::new(Endpoint::ShowTrainee, String::new(), String::new())
    }

    pub(super) fn compose_change(&self, changes: &[FieldChange]) -> StoredRequest {
        self.compose(
            Endpoint::UpdateTrainee,
            None,
            write_cells(changes),
            String::new(),
        )
    }

    /// Returns `None` for a record to add.
    pub(super) fn compose_show_nested(
        &self,
        nested: &NestedChange,
    ) -> Result<Option<StoredRequest>, WorkEnd> {
        let NestedChange::Update { row, id, .. } = nested else {
            return Ok(None);
        };
        let show = find_endpoint(row.list, Method::Get, true)?;
        Ok(Some(StoredRequest {
            nested_id: id.clone(),
            ..StoredRequest::new(show, String::new(), row.column_name(""))
        }))
    }

    pub(super) fn compose_nested(&self, nested: &NestedChange) -> Result<StoredRequest, WorkEnd> {
        Ok(match nested {
            NestedChange::Add(row) => {
                let add = find_endpoint(row.list, Method::Post, false)?;
                self.compose(add, Some(row.list), row.body(), row.column_name(""))
            }
            NestedChange::Update { row, id, changes } => {
                let update = find_endpoint(row.list, Method::PutOrPatch, true)?;
                let columns = row.column_name("");
                StoredRequest {
                    nested_id: id.clone(),
                    ..self.compose(update, Some(row.list), write_cells(changes), columns)
                }
            }
        })
    }
}

pub(super) fn list_nested_changes(nested: &NestedChange) -> Vec<FieldChange> {
    match nested {
        NestedChange::Update { changes, .. } => changes.clone(),
        NestedChange::Add(row) => {
            // All filled cells of a record to add are changes of blank fields.
            let filled = row.fields.iter().filter(|(_, cell)| !cell.is_empty());
            let added = filled.map(|(field, cell)| FieldChange {
                field: field.clone(),
                shown: String::new(),
                cell: cell.clone(),
            });
            added.collect()
        }
    }
}

fn write_cells(changes: &[FieldChange]) -> Map<String, Value> {
    let cells = changes.iter();
    cells
        .map(|change| (change.field.clone(), input(&change.cell)))
        .collect()
}

fn find_endpoint(list: List, method: Method, is_for_record: bool) -> Result<Endpoint, WorkEnd> {
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
            assert!(
                find_endpoint(list, Method::Post, false).is_ok(),
                "{}",
                list.name
            );
            assert!(
                find_endpoint(list, Method::Get, true).is_ok(),
                "{}",
                list.name
            );
            assert!(
                find_endpoint(list, Method::PutOrPatch, true).is_ok(),
                "{}",
                list.name
            );
        }
    }
}
