//! New trainees, many in a request. Each has an idempotency key, which is stored before the request
//! is sent.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;
use trainee_file::{AcceptedValue, Problem, TRAINEE_ID, TraineeRow, at, cell, shown_otherwise};

use super::{Mode, Sent};
use crate::client::asks_to_come_again;
use crate::connection::Connection;
use crate::report::answer_problems;
use crate::store::{digest, nested_digest};
use crate::table::json_text;

/// Trainees of a request, at most.
const MOST_ITEMS: usize = 200;
/// Bytes of a request, at most: the register takes 1 MiB.
const MOST_BYTES: usize = 1_000_000;
/// What an item has beside the text of its trainee, in bytes.
const ENVELOPE_BYTES: usize = 100;
/// Number of trainees that count as one request against the limit of the token.
const ITEMS_PER_COUNTED_REQUEST: usize = 10;
/// The first wait before trainees are sent again that the register has put off.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The longest wait before that.
const LONGEST_DELAY: Duration = Duration::from_secs(15);
/// How long trainees are sent again that the register puts off.
const PATIENCE: Duration = Duration::from_secs(300);

/// A row with the text that registers it.
struct NewTrainee<'a> {
    row: &'a TraineeRow,
    body: String,
    digest: String,
}

/// Registers trainees. Returns the rows that turned out to be about trainees who are registered
/// already, with these.
pub(super) fn create(
    connection: &mut Connection,
    rows: &[TraineeRow],
    mode: Mode,
    match_column: &str,
    sent: &mut Sent,
) -> Result<Vec<(TraineeRow, String)>> {
    let most_items = connection.quota.map_or(MOST_ITEMS, |quota| {
        (quota * ITEMS_PER_COUNTED_REQUEST).min(MOST_ITEMS)
    });
    let mut waiting: Vec<NewTrainee<'_>> = rows
        .iter()
        .map(|row| {
            let body = json_text(row.body());
            NewTrainee {
                row,
                digest: digest(&[&body]),
                body,
            }
        })
        .collect();
    // The next one is the last of the list.
    waiting.reverse();
    let (mut present, mut done, mut delay) = (Vec::new(), 0, FIRST_DELAY);
    let mut put_off_since: Option<Instant> = None;
    while !waiting.is_empty() {
        let batch = take_batch(&mut waiting, most_items);
        let results = send(connection, &batch, mode)?;
        let mut answered = Answered::new(mode, match_column, sent);
        let mut put_off = Vec::new();
        for (trainee, result) in batch.into_iter().zip(&results) {
            let status = result["status"].as_u64().unwrap_or_default();
            if asks_to_come_again(u16::try_from(status).unwrap_or_default(), result) {
                put_off.push(trainee);
            } else {
                answered.take(&trainee, status, result)?;
                let warnings = at(result, "warnings")
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                warnings.for_each(|warning| answered.sent.warn(trainee.row.line, warning));
                done += 1;
            }
        }
        present.append(&mut answered.present);
        answered.store(connection)?;
        connection.progress.show(
            "trainees registered",
            done,
            Some(rows.len()),
            connection.client.count(),
        );
        if put_off.is_empty() {
            (put_off_since, delay) = (None, FIRST_DELAY);
            continue;
        }
        if put_off_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            bail!(
                "the register keeps putting off {} trainees; push the file again later: it goes on where it was",
                put_off.len()
            );
        }
        connection.progress.say(&format!(
            "the register puts off {} trainees; sending them again",
            put_off.len()
        ));
        thread::sleep(delay);
        delay = (delay * 2).min(LONGEST_DELAY);
        waiting.extend(put_off.into_iter().rev());
    }
    Ok(present)
}

/// The next trainees that fit in one request; at least one.
fn take_batch<'a>(waiting: &mut Vec<NewTrainee<'a>>, most_items: usize) -> Vec<NewTrainee<'a>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(next) = waiting.pop_if(|next| {
        bytes += next.body.len() + ENVELOPE_BYTES;
        batch.is_empty() || (batch.len() < most_items.max(1) && bytes <= MOST_BYTES)
    }) {
        batch.push(next);
    }
    batch
}

/// Sends a batch. Returns a result for each of its trainees.
fn send(connection: &mut Connection, batch: &[NewTrainee<'_>], mode: Mode) -> Result<Vec<Value>> {
    let digests: Vec<&str> = batch
        .iter()
        .map(|trainee| trainee.digest.as_str())
        .collect();
    let keys = match mode {
        Mode::CarryOut => connection.store.keys(&digests)?,
        // Keys are not looked at.
        Mode::Check => digests.iter().map(|digest| (*digest).to_owned()).collect(),
    };
    let items = batch.iter().zip(&keys);
    // The register compares the text of a trainee with that of the first time, so it is put in as
    // it is.
    let items: Vec<String> = items
        .map(|(trainee, key)| {
            format!(
                "{{\"idempotency_key\":\"{key}\",\"data\":{}}}",
                trainee.body
            )
        })
        .collect();
    let reply = connection
        .register()
        .batch(format!("[{}]", items.join(",")), mode.prefer())?;
    match (reply.status, at(&reply.body, "data").as_array()) {
        (200, Some(results)) if results.len() == batch.len() => Ok(results.clone()),
        // One trainee that is larger than a request may be.
        (413, _) if batch.len() == 1 => Ok(vec![
            serde_json::json!({ "status": 413, "errors": at(&reply.body, "errors") }),
        ]),
        _ => Err(reply.refusal()),
    }
}

/// The text with one space for each run of white space, as the register keeps names.
fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the answers about a batch say, to be stored together.
struct Answered<'a> {
    mode: Mode,
    match_column: &'a str,
    sent: &'a mut Sent,
    outcomes: Vec<(String, String)>,
    refused: Vec<String>,
    accepted: Vec<(String, AcceptedValue)>,
    /// Rows about trainees who are registered already.
    present: Vec<(TraineeRow, String)>,
}

impl<'a> Answered<'a> {
    fn new(mode: Mode, match_column: &'a str, sent: &'a mut Sent) -> Self {
        let (outcomes, refused, accepted, present) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            mode,
            match_column,
            sent,
            outcomes,
            refused,
            accepted,
            present,
        }
    }

    /// Takes up the answer about a trainee.
    fn take(&mut self, trainee: &NewTrainee<'_>, status: u64, result: &Value) -> Result<()> {
        let row = trainee.row;
        match status {
            201 => {
                self.sent.created += 1;
                let trainee_id = cell(at(at(result, "data"), TRAINEE_ID));
                let shown = shown_otherwise("", &row.fields, &result["data"]);
                let shown = shown.into_iter().map(|value| (trainee_id.clone(), value));
                self.accepted.extend(shown);
                self.outcomes
                    .push((trainee.digest.clone(), trainee_id.clone()));
                let nested = row
                    .nested
                    .iter()
                    .map(|nested| (nested_digest(nested, &trainee_id), trainee_id.clone()));
                self.outcomes.extend(nested);
            }
            401 => bail!(
                "the token has ended; ask for a new one, and push the file again: it goes on where it was"
            ),
            409 => self.take_present(trainee, result),
            _ => {
                self.refused.push(trainee.digest.clone());
                self.sent
                    .problems
                    .extend(answer_problems(row, status, result, |field| {
                        row.column_name(field)
                    }));
            }
        }
        Ok(())
    }

    /// The register has such a trainee. A row that names the same one by its own identifier is an
    /// update; any other row may be about another person, which the user has to decide.
    fn take_present(&mut self, trainee: &NewTrainee<'_>, result: &Value) {
        let row = trainee.row;
        let records = result["data"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if let [record] = records {
            let own = row.field(self.match_column).unwrap_or_default();
            let is_named = !own.is_empty() && own == cell(&record[self.match_column]).trim();
            let is_shown = |(field, text): &(String, String)| {
                one_spaced(&cell(at(record, field))) == one_spaced(text)
            };
            let is_equal = || {
                row.fields
                    .iter()
                    .filter(|(_, text)| !text.is_empty())
                    .all(is_shown)
            };
            if is_named || is_equal() {
                let trainee_id = cell(at(record, TRAINEE_ID));
                self.outcomes
                    .push((trainee.digest.clone(), trainee_id.clone()));
                self.present.push((row.clone(), trainee_id));
                return;
            }
        }
        self.refused.push(trainee.digest.clone());
        let identifiers: Vec<String> = records
            .iter()
            .map(|record| cell(&record[TRAINEE_ID]))
            .collect();
        let message = format!(
            "this trainee is already present; to update the record, write {} into the column {TRAINEE_ID}",
            identifiers.join(" or ")
        );
        self.sent
            .problems
            .push(Problem::new(row.line, "", "already_present", message));
    }

    /// Stores what the answers say.
    fn store(self, connection: &mut Connection) -> Result<()> {
        if self.mode == Mode::Check {
            return Ok(());
        }
        // A request has its outcome last: without it, it is sent again, and all of this is said
        // again.
        connection.store.set_accepted(&self.accepted)?;
        connection.store.set_outcomes(&self.outcomes)?;
        connection.store.forget_sent(&self.refused)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(line: u64, code: &str, email: &str) -> TraineeRow {
        let fields = [("code", code), ("email", email)];
        let fields = fields
            .iter()
            .map(|(field, cell)| ((*field).to_owned(), (*cell).to_owned()))
            .collect();
        TraineeRow {
            line,
            fields,
            ..TraineeRow::default()
        }
    }

    fn new_trainee(row: &TraineeRow) -> NewTrainee<'_> {
        NewTrainee {
            row,
            digest: digest(&[&json_text(row.body())]),
            body: json_text(row.body()),
        }
    }

    #[test]
    fn batch_has_as_many_trainees_as_the_register_takes() {
        let rows: Vec<TraineeRow> = (0..250).map(|line| row(line, "", "a@x")).collect();
        let mut waiting: Vec<_> = rows.iter().rev().map(new_trainee).collect();
        let sizes: Vec<usize> = std::iter::from_fn(|| {
            Some(take_batch(&mut waiting, MOST_ITEMS).len()).filter(|size| *size > 0)
        })
        .collect();
        assert_eq!(sizes, [200, 50]);
        let long = row(1, &"x".repeat(400_000), "");
        let too_long = row(2, &"x".repeat(2_000_000), "");
        let mut waiting: Vec<_> = [&too_long, &long, &long, &long]
            .into_iter()
            .map(new_trainee)
            .collect();
        let sizes: Vec<usize> = std::iter::from_fn(|| {
            Some(take_batch(&mut waiting, MOST_ITEMS).len()).filter(|size| *size > 0)
        })
        .collect();
        assert_eq!(sizes, [2, 1, 1]);
    }

    #[test]
    fn answers_say_what_became_of_rows() {
        let rows = [
            row(2, "1", "a@x"),
            row(3, "2", "b@x"),
            row(4, "", "c@x"),
            row(5, "", "d@x"),
            row(6, "", "e@x"),
        ];
        let record = |id: &str, code: &str, email: &str| json!({ "trainee_id": id, "code": code, "email": email });
        let blank = json!({ "errors": [{ "message": "email cannot be blank", "code": "blank", "field": "email" }] });
        let results = [
            (201, json!({ "data": record("A", "1", "A@X") })),
            // Its own identifier says who it is; an equal record too; another record may be another
            // person.
            (409, json!({ "data": [record("B", "2", "other@x")] })),
            (409, json!({ "data": [record("C", "9", "c@x")] })),
            (409, json!({ "data": [record("D", "9", "other@x")] })),
            (422, blank),
        ];
        let mut sent = Sent::default();
        let mut answered = Answered::new(Mode::CarryOut, "code", &mut sent);
        for (row, (status, result)) in rows.iter().zip(&results) {
            answered.take(&new_trainee(row), *status, result).unwrap();
        }
        let outcome =
            |row: usize, id: &str| (digest(&[&json_text(rows[row].body())]), id.to_owned());
        assert_eq!(
            answered.outcomes,
            [outcome(0, "A"), outcome(1, "B"), outcome(2, "C")]
        );
        assert_eq!(
            answered.accepted,
            [(
                "A".to_owned(),
                AcceptedValue {
                    field: "email".to_owned(),
                    sent: "a@x".to_owned(),
                    shown: "A@X".to_owned()
                }
            )]
        );
        assert_eq!(answered.refused.len(), 2);
        let present: Vec<(u64, &str)> = answered
            .present
            .iter()
            .map(|(row, id)| (row.line, id.as_str()))
            .collect();
        assert_eq!(present, [(3, "B"), (4, "C")]);
        assert_eq!(sent.created, 1);
        let problems: Vec<(u64, &str)> = sent
            .problems
            .iter()
            .map(|problem| (problem.line, problem.code.as_str()))
            .collect();
        assert_eq!(problems, [(5, "already_present"), (6, "blank")]);
    }
}
