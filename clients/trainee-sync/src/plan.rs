//! What is to be done about each row of a file: the trainee is registered, updated, or left as it
//! is.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use serde_json::Value;
use trainee_file::{Differences, Problem, TRAINEE_ID, TraineeRow, cell, compare};

use crate::store::{Store, digest};
use crate::table::json_text;

/// A trainee that a row changes.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) row: TraineeRow,
    pub(crate) trainee_id: String,
    /// The trainee in the copy.
    pub(crate) differences: Differences,
}

/// What is to be done about the rows of a file.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) creates: Vec<TraineeRow>,
    pub(crate) updates: Vec<Update>,
    pub(crate) unchanged: usize,
    pub(crate) problems: Vec<Problem>,
}

impl Plan {
    /// Refuses the rows with these problems, unless they change nothing.
    pub(crate) fn refuse(&mut self, problems: Vec<Problem>) {
        let lines: HashSet<u64> = problems.iter().map(|problem| problem.line).collect();
        let is_sent = |line: u64| {
            let mut creates = self.creates.iter().map(|row| row.line);
            let mut updates = self.updates.iter().map(|update| update.row.line);
            creates.any(|sent| sent == line) || updates.any(|sent| sent == line)
        };
        let refused: Vec<Problem> = problems
            .into_iter()
            .filter(|problem| is_sent(problem.line))
            .collect();
        self.problems.extend(refused);
        self.creates.retain(|row| !lines.contains(&row.line));
        self.updates
            .retain(|update| !lines.contains(&update.row.line));
    }
}

/// What a row is about.
enum Target {
    New,
    Trainee(String),
    Refused(Problem),
}

/// Compares rows with the copy. A row is about the trainee that it names, or the one that was made
/// from exactly this row, or the only one with its value in the column `match_column`; otherwise it
/// is about a new one.
pub(crate) fn plan(store: &Store, rows: Vec<TraineeRow>, match_column: &str) -> Result<Plan> {
    let matches = by_value(store, match_column)?;
    let mut plan = Plan::default();
    // The line of the first row about a trainee, by what would make another row one about the same.
    let mut lines: HashMap<String, u64> = HashMap::new();
    for row in rows {
        let target = target(store, &row, &matches, match_column)?;
        let same = match &target {
            Target::Trainee(trainee_id) => vec![format!("trainee {trainee_id}")],
            Target::New => {
                let value = row.field(match_column).filter(|value| !value.is_empty());
                let value = value.map(|value| format!("value {value}"));
                std::iter::once(format!("row {}", json_text(row.body())))
                    .chain(value)
                    .collect()
            }
            Target::Refused(_) => Vec::new(),
        };
        if let Some(line) = same.iter().find_map(|same| lines.get(same)) {
            let message = format!("line {line} is about the same trainee; keep one of the two");
            plan.problems
                .push(Problem::new(row.line, "", "repeated_row", message));
            continue;
        }
        lines.extend(same.into_iter().map(|same| (same, row.line)));
        match target {
            Target::Refused(problem) => plan.problems.push(problem),
            Target::New => plan.creates.push(row),
            Target::Trainee(trainee_id) => {
                let record = store.record(&trainee_id)?.unwrap_or_default();
                let differences = compare(store, &row, &record)?;
                if !differences.problems.is_empty() {
                    plan.problems.extend(differences.problems);
                } else if differences.is_empty() {
                    plan.unchanged += 1;
                } else {
                    plan.updates.push(Update {
                        row,
                        trainee_id,
                        differences,
                    });
                }
            }
        }
    }
    Ok(plan)
}

fn target(
    store: &Store,
    row: &TraineeRow,
    matches: &HashMap<String, Vec<String>>,
    match_column: &str,
) -> Result<Target> {
    if let Some(trainee_id) = &row.trainee_id {
        let message = "the register has no such trainee of yours; correct it, or leave it blank to register a new one";
        return Ok(match store.record(trainee_id)? {
            Some(_) => Target::Trainee(trainee_id.clone()),
            None => Target::Refused(Problem::new(
                row.line,
                TRAINEE_ID,
                "unknown_trainee",
                message,
            )),
        });
    }
    let sent = store.sent(&digest(&[&json_text(row.body())]))?;
    if let Some(trainee_id) = sent.as_ref().and_then(|sent| sent.trainee_id.clone())
        && store.record(&trainee_id)?.is_some()
    {
        return Ok(Target::Trainee(trainee_id));
    }
    // Sent with a key, and no answer came: the register says what became of it when it is sent
    // again.
    if sent.is_some_and(|sent| sent.trainee_id.is_none() && sent.is_remembered) {
        return Ok(Target::New);
    }
    let found = row.field(match_column).and_then(|value| matches.get(value));
    Ok(match found.map(Vec::as_slice) {
        None | Some([]) => Target::New,
        Some([trainee_id]) => Target::Trainee(trainee_id.clone()),
        Some(several) => {
            let message = format!(
                "{} trainees have this value; name one of them in the column {TRAINEE_ID}",
                several.len()
            );
            Target::Refused(Problem::new(
                row.line,
                match_column,
                "several_trainees",
                message,
            ))
        }
    })
}

/// The trainees of the copy by their value of a field, where they have one.
fn by_value(store: &Store, field: &str) -> Result<HashMap<String, Vec<String>>> {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    store.each_record(|record: &Value| {
        let value = cell(&record[field]).trim().to_owned();
        if !value.is_empty() {
            found
                .entry(value)
                .or_default()
                .push(cell(&record[TRAINEE_ID]));
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainee_file::AcceptedValue;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("copy.db")).unwrap();
        let trainee = |id: &str, code: &str| {
            let trainee =
                json!({ "trainee_id": id, "code": code, "email": "a@x", "updated_at": "u" });
            json!({ "trainee_id": id, "trainee": trainee })
        };
        let data = [trainee("A", "1"), trainee("B", "2"), trainee("C", "2")];
        let page = json!({ "data": data, "meta": { "after": "x", "has_more": false } });
        store.apply(&serde_json::from_value(page).unwrap()).unwrap();
        (folder, store)
    }

    fn row(line: u64, trainee_id: Option<&str>, code: &str, email: &str) -> TraineeRow {
        let fields = [("code", code), ("email", email)];
        let fields = fields
            .iter()
            .map(|(field, cell)| ((*field).to_owned(), (*cell).to_owned()))
            .collect();
        TraineeRow {
            line,
            trainee_id: trainee_id.map(str::to_owned),
            fields,
            ..TraineeRow::default()
        }
    }

    #[test]
    fn rows_find_their_trainees() {
        let (_folder, store) = store();
        let rows = vec![
            row(2, Some("B"), "2", "a@x"),
            row(3, None, "1", "b@x"),
            row(4, None, "2", "b@x"),
            row(5, None, "3", "b@x"),
            row(6, Some("D"), "", ""),
            row(7, Some("A"), "1", "c@x"),
            row(8, None, "3", "d@x"),
        ];
        let plan = plan(&store, rows, "code").unwrap();
        assert_eq!(plan.unchanged, 1);
        assert_eq!(
            plan.updates
                .iter()
                .map(|update| update.row.line)
                .collect::<Vec<_>>(),
            [3]
        );
        assert_eq!(
            plan.creates.iter().map(|row| row.line).collect::<Vec<_>>(),
            [5]
        );
        let problems: Vec<(u64, &str)> = plan
            .problems
            .iter()
            .map(|problem| (problem.line, problem.code.as_str()))
            .collect();
        assert_eq!(
            problems,
            [
                (4, "several_trainees"),
                (6, "unknown_trainee"),
                (7, "repeated_row"),
                (8, "repeated_row")
            ]
        );
    }

    #[test]
    fn row_sent_before_refers_to_the_trainee_it_created() {
        let (_folder, mut store) = store();
        let made = row(2, None, "", "a@x");
        let digest = digest(&[&json_text(made.body())]);
        assert_eq!(
            plan(&store, vec![made.clone()], "code")
                .unwrap()
                .creates
                .len(),
            1
        );
        store.set_outcomes(&[(digest, "A".to_owned())]).unwrap();
        let accepted = AcceptedValue {
            field: "code".to_owned(),
            sent: String::new(),
            shown: "1".to_owned(),
        };
        store.set_accepted(&[("A".to_owned(), accepted)]).unwrap();
        assert_eq!(plan(&store, vec![made], "code").unwrap().unchanged, 1);
    }

    #[test]
    fn row_without_a_reply_is_sent_again_despite_existing_trainee() {
        let (_folder, mut store) = store();
        let made = row(2, None, "1", "a@x");
        assert_eq!(
            plan(&store, vec![made.clone()], "code").unwrap().unchanged,
            1
        );
        store.keys(&[&digest(&[&json_text(made.body())])]).unwrap();
        assert_eq!(plan(&store, vec![made], "code").unwrap().creates.len(), 1);
    }
}
