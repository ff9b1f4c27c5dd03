//! The requests of a row.

use adapter_kit::{Endpoint, Method};
use serde_json::{Map, Value};
use trainee_file::{FieldChange, List, NestedChange, NestedRow, Row, TraineeRow, input};

use super::{Work, WorkEnd};
use crate::upload::row_details::StoredRequest;

/// Makes the requests of a row.
pub(super) struct Prepared<'a> {
    work: &'a Work,
    row: &'a Row,
}

impl Work {
    /// Prepares the requests of a row.
    pub(super) fn prepare<'a>(&'a self, row: &'a Row) -> Prepared<'a> {
        Prepared { work: self, row }
    }
}

impl Prepared<'_> {
    /// A request with an idempotency key made of the user, the upload, the digest of the file, the
    /// line, and the part of the row. A second upload of the file has other keys, because records
    /// that the first one added may be gone.
    fn request(
        &self,
        endpoint: Endpoint,
        trainee_id: &str,
        data: Map<String, Value>,
        part: &str,
    ) -> StoredRequest {
        let upload = &self.work.order.upload;
        let user = self.work.order.user.uploader.user_id();
        let (id, digest, line) = (upload.id, &upload.file_digest, self.row.line);
        StoredRequest {
            endpoint,
            trainee_id: trainee_id.to_owned(),
            nested_id: String::new(),
            body: match data.is_empty() {
                true => String::new(),
                false => serde_json::json!({ self.work.envelope().request: data }).to_string(),
            },
            if_match: None,
            idempotency_key: format!("upload-{user}-{id}-{digest}-{line}{part}"),
            columns: part.to_owned(),
        }
    }

    /// Registers the trainee.
    pub(super) fn registration(&self, row: &TraineeRow) -> StoredRequest {
        self.request(Endpoint::CreateTrainee, "", row.body(), "")
    }

    /// Shows a trainee.
    pub(super) fn show(&self, trainee_id: &str) -> StoredRequest {
        self.request(Endpoint::ShowTrainee, trainee_id, Map::new(), "")
    }

    /// Changes fields of a trainee.
    pub(super) fn change(&self, trainee_id: &str, changes: &[FieldChange]) -> StoredRequest {
        self.request(Endpoint::UpdateTrainee, trainee_id, cells(changes), "")
    }

    /// Shows the nested record that a change is about; `None` for a record to add.
    pub(super) fn show_nested(
        &self,
        trainee_id: &str,
        nested: &NestedChange,
    ) -> Result<Option<StoredRequest>, WorkEnd> {
        let NestedChange::Update { row, id, .. } = nested else {
            return Ok(None);
        };
        let show = endpoint(row.list, Method::Get, true)?;
        Ok(Some(StoredRequest {
            nested_id: id.clone(),
            ..self.request(show, trainee_id, Map::new(), &row.column_name(""))
        }))
    }

    /// Adds or changes a nested record.
    pub(super) fn nested(
        &self,
        trainee_id: &str,
        nested: &NestedChange,
    ) -> Result<StoredRequest, WorkEnd> {
        Ok(match nested {
            NestedChange::Add(row) => {
                let add = endpoint(row.list, Method::Post, false)?;
                self.request(add, trainee_id, row.body(), &row.column_name(""))
            }
            NestedChange::Update { row, id, changes } => {
                let update = endpoint(row.list, Method::PutOrPatch, true)?;
                StoredRequest {
                    nested_id: id.clone(),
                    ..self.request(update, trainee_id, cells(changes), &row.column_name(""))
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
