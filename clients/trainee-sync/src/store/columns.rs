//! Which fields records have had, in their order, and the views that show the records by column.
//!
//! A version can add fields at any time, so they are learned from the records.

use anyhow::Result;
use rusqlite::{Connection, params};
use serde_json::Value;
use trainee_file::{LISTS, TRAINEE_ID};

/// The key of a trainee's own fields.
const TRAINEES: &str = "trainees";
/// The longest name of a column.
const LONGEST_NAME: usize = 64;

/// The fields that records have had.
#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct Columns {
    /// Of trainees, without the nested lists.
    pub(crate) trainees: Vec<String>,
    /// Of the records of each list, by [`LISTS`].
    pub(crate) lists: [Vec<String>; 2],
}

impl Columns {
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let of_list = |list: &str| -> Result<Vec<String>> {
            let mut statement = connection
                .prepare("SELECT name FROM sync_columns WHERE list = ? ORDER BY position")?;
            Ok(statement
                .query_map([list], |row| row.get(0))?
                .collect::<Result<_, _>>()?)
        };
        let [placements, degrees] = LISTS;
        Ok(Self {
            trainees: of_list(TRAINEES)?,
            lists: [of_list(placements.name)?, of_list(degrees.name)?],
        })
    }

    /// Adds the fields of a record that were not known, each behind the one before it in the
    /// record.
    pub(super) fn learn(&mut self, trainee: &Value) {
        let is_list = |field: &str| LISTS.iter().any(|list| list.name == field);
        let fields = trainee
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.keys());
        add(
            &mut self.trainees,
            fields.map(String::as_str).filter(|field| !is_list(field)),
        );
        for (list, known) in LISTS.iter().zip(&mut self.lists) {
            for nested in trainee[list.name].as_array().into_iter().flatten() {
                let fields = nested
                    .as_object()
                    .into_iter()
                    .flat_map(|fields| fields.keys());
                add(
                    known,
                    fields
                        .map(String::as_str)
                        .filter(|field| *field != TRAINEE_ID),
                );
            }
        }
    }

    /// Stores the fields, and makes the views that show them.
    pub(super) fn write(&self, connection: &Connection) -> Result<()> {
        connection.execute("DELETE FROM sync_columns", [])?;
        let names = std::iter::once(TRAINEES).chain(LISTS.iter().map(|list| list.name));
        for (list, fields) in names.zip(std::iter::once(&self.trainees).chain(&self.lists)) {
            for (position, name) in (0_i64..).zip(fields) {
                connection.execute(
                    "INSERT INTO sync_columns VALUES (?, ?, ?)",
                    params![list, position, name],
                )?;
            }
            let columns = |from: &str| {
                let column =
                    |name: &String| format!(", json_extract({from}, '$.{name}') AS \"{name}\"");
                fields
                    .iter()
                    .filter(|name| *name != TRAINEE_ID)
                    .map(column)
                    .collect::<String>()
            };
            let select = if list == TRAINEES {
                format!("SELECT {TRAINEE_ID}{} FROM sync_records", columns("record"))
            } else {
                let columns = columns("nested.value");
                format!(
                    "SELECT {TRAINEE_ID}{columns} FROM sync_records, json_each(record, '$.{list}') AS nested"
                )
            };
            connection.execute_batch(&format!(
                "DROP VIEW IF EXISTS {list}; CREATE VIEW {list} AS {select};"
            ))?;
        }
        Ok(())
    }
}

/// Adds names that are not known yet. A name that SQL could not have as it is, is left out.
fn add<'a>(known: &mut Vec<String>, names: impl Iterator<Item = &'a str>) {
    let mut behind = 0;
    for name in names {
        if let Some(at) = known.iter().position(|one| one == name) {
            behind = at + 1;
        } else if is_name(name) {
            known.insert(behind, name.to_owned());
            behind += 1;
        }
    }
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn new_field_follows_the_one_before_it() {
        let mut columns = Columns::default();
        columns
            .learn(&json!({ "trainee_id": "A", "disability1": null, "email": "a@x", "placements": [{ "urn": "1" }] }));
        columns.learn(
            &json!({ "trainee_id": "B", "disability1": "1", "disability2": "2", "email": "b@x", "degrees": [] }),
        );
        assert_eq!(
            columns.trainees,
            ["trainee_id", "disability1", "disability2", "email"]
        );
        assert_eq!(columns.lists, [vec!["urn".to_owned()], Vec::new()]);
    }

    #[test]
    fn what_is_no_name_is_no_column() {
        let mut columns = Columns::default();
        columns.learn(&json!({ "a\"b": 1, "a'b": 1, "": 1, "good_1": 1 }));
        assert_eq!(columns.trainees, ["good_1"]);
    }
}
