//! Changes of trainees who are registered, a few trainees at once.
//!
//! Each is read, compared with its row, and changed if it is unchanged since. So concurrent changes
//! are compared too, and a change with a lost reply is found done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use trainee_file::{
    FieldChange, NestedChange, NestedRow, Problem, TraineeRow, UPDATED_AT, at, cell, compare,
    input, shown_otherwise,
};

use super::{Mode, Sent};
use crate::client::Reply;
use crate::connection::Connection;
use crate::progress::Progress;
use crate::register::Register;
use crate::report::answer_problems;
use crate::store::{Store, nested_digest};
use crate::table::json_text;

/// How often a trainee is read again because of concurrent changes.
const MOST_ATTEMPTS: usize = 10;
/// Rows between two lines about the progress.
const ROWS_PER_LINE: usize = 50;

/// What became of a row.
enum RowOutcome {
    Changed,
    Unchanged,
    Refused(Vec<Problem>),
    /// A concurrent change came first.
    ReadAgain,
}

/// Sends the changes of rows about trainees who are registered.
pub(super) fn update(
    connection: &mut Connection,
    rows: &[(TraineeRow, String)],
    mode: Mode,
    threads: usize,
    sent: &mut Sent,
) -> Result<()> {
    let Connection {
        store,
        client,
        identity,
        progress,
        ..
    } = connection;
    let updates = Updates {
        register: Register {
            client,
            version: &identity.version,
        },
        store: Mutex::new(store),
        mode,
        progress,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
    };
    let outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(rows.len()))
            .map(|_| scope.spawn(|| updates.work(rows)))
            .collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().ok().context("an update ended unexpectedly")?);
        joined.collect::<Result<Vec<_>>>()
    })?;
    for outcome in outcomes.into_iter().flatten() {
        match outcome {
            RowOutcome::Changed => sent.updated += 1,
            RowOutcome::Unchanged | RowOutcome::ReadAgain => sent.unchanged += 1,
            RowOutcome::Refused(problems) => sent.problems.extend(problems),
        }
    }
    Ok(())
}

/// What the threads share.
struct Updates<'a> {
    register: Register<'a>,
    store: Mutex<&'a mut Store>,
    mode: Mode,
    progress: &'a Progress,
    next: AtomicUsize,
    done: AtomicUsize,
}

impl<'a> Updates<'a> {
    /// Takes one row after the other until there are no more, or one fails.
    fn work(&self, rows: &[(TraineeRow, String)]) -> Result<Vec<RowOutcome>> {
        let mut outcomes = Vec::new();
        while let Some((row, trainee_id)) = rows.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            match self.update(row, trainee_id) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    // The other threads end too.
                    self.next.store(rows.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(ROWS_PER_LINE) || done == rows.len() {
                self.progress.show(
                    "trainees compared",
                    done,
                    Some(rows.len()),
                    self.register.client.count(),
                );
            }
        }
        Ok(outcomes)
    }

    fn store(&self) -> MutexGuard<'_, &'a mut Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, row: &TraineeRow, trainee_id: &str) -> Result<RowOutcome> {
        let mut is_read_again = false;
        for _ in 0..MOST_ATTEMPTS {
            match self.update_once(row, trainee_id)? {
                RowOutcome::ReadAgain => is_read_again = true,
                // It was this program that changed it, and the answer was lost.
                RowOutcome::Unchanged if is_read_again => return Ok(RowOutcome::Changed),
                outcome
                @ (RowOutcome::Changed | RowOutcome::Unchanged | RowOutcome::Refused(_)) => {
                    return Ok(outcome);
                }
            }
        }
        let message = "the trainee keeps changing; push the file again";
        Ok(RowOutcome::Refused(vec![Problem::new(
            row.line, "", "changing", message,
        )]))
    }

    fn update_once(&self, row: &TraineeRow, trainee_id: &str) -> Result<RowOutcome> {
        let reply = self.register.trainee(trainee_id)?;
        if reply.status != 200 {
            return refused(row, &reply, str::to_owned);
        }
        let (etag, current) = (etag(&reply)?, at(&reply.body, "data"));
        let differences = compare(&**self.store(), row, current)?;
        if !differences.problems.is_empty() {
            return Ok(RowOutcome::Refused(differences.problems));
        }
        if differences.is_empty() {
            return Ok(RowOutcome::Unchanged);
        }
        if let Some(seen) = row
            .updated_at
            .as_deref()
            .filter(|seen| *seen == cell(&current[UPDATED_AT]))
            && self.mode == Mode::CarryOut
        {
            self.store().set_base(trainee_id, seen, current)?;
        }
        let mut is_changed = false;
        if !differences.fields.is_empty() {
            let reply = self.register.update(
                trainee_id,
                body_of(&differences.fields),
                etag,
                self.mode.prefer(),
            )?;
            match reply.status {
                200 => {
                    // Where the register shows a value otherwise than it is sent, sending it need
                    // not change anything.
                    is_changed = at(at(&reply.body, "data"), UPDATED_AT) != at(current, UPDATED_AT);
                    self.accept(trainee_id, "", &row.fields, at(&reply.body, "data"))?;
                }
                412 => return Ok(RowOutcome::ReadAgain),
                _ => return refused(row, &reply, str::to_owned),
            }
        }
        for nested in &differences.nested {
            let outcome = match nested {
                NestedChange::Add(nested) => self.add(row, trainee_id, nested)?,
                NestedChange::Update {
                    row: nested,
                    id,
                    changes,
                } => self.update_nested(row, trainee_id, nested, id, changes)?,
            };
            match outcome {
                RowOutcome::Changed | RowOutcome::Unchanged => is_changed = true,
                RowOutcome::Refused(_) | RowOutcome::ReadAgain => return Ok(outcome),
            }
        }
        Ok(if is_changed {
            RowOutcome::Changed
        } else {
            RowOutcome::Unchanged
        })
    }

    fn add(&self, row: &TraineeRow, trainee_id: &str, nested: &NestedRow) -> Result<RowOutcome> {
        let digest = nested_digest(nested, trainee_id);
        let key = match self.mode {
            Mode::CarryOut => self
                .store()
                .keys(&[&digest])?
                .pop()
                .context("a request needs a key")?,
            Mode::Check => digest.clone(),
        };
        let body = format!("{{\"data\":{}}}", json_text(nested.body()));
        let reply =
            self.register
                .add_nested(trainee_id, nested.list, body, (&key, self.mode.prefer()))?;
        if reply.status == 201 {
            if self.mode == Mode::CarryOut {
                self.store()
                    .set_outcomes(&[(digest, trainee_id.to_owned())])?;
            }
            return Ok(RowOutcome::Changed);
        }
        if self.mode == Mode::CarryOut {
            self.store().forget_sent(&[digest])?;
        }
        refused(row, &reply, |field| nested.column_name(field))
    }

    fn update_nested(
        &self,
        row: &TraineeRow,
        trainee_id: &str,
        nested: &NestedRow,
        id: &str,
        changes: &[FieldChange],
    ) -> Result<RowOutcome> {
        let reply = self.register.nested(trainee_id, nested.list, id)?;
        let record = at(&reply.body, "data");
        if reply.status != 200
            || changes
                .iter()
                .any(|change| cell(&record[&change.field]) != change.shown)
        {
            return Ok(RowOutcome::ReadAgain);
        }
        let headers = (etag(&reply)?, self.mode.prefer());
        let reply = self.register.update_nested(
            trainee_id,
            (nested.list, id),
            body_of(changes),
            headers,
        )?;
        match reply.status {
            200 => {
                self.accept(trainee_id, id, &nested.fields, at(&reply.body, "data"))?;
                Ok(RowOutcome::Changed)
            }
            412 => Ok(RowOutcome::ReadAgain),
            _ => refused(row, &reply, |field| nested.column_name(field)),
        }
    }

    /// Remembers what is shown otherwise than it was sent. `nested_id` is the identifier of a nested
    /// record, or blank.
    fn accept(
        &self,
        trainee_id: &str,
        nested_id: &str,
        fields: &[(String, String)],
        record: &Value,
    ) -> Result<()> {
        match self.mode {
            Mode::CarryOut => {
                let shown = shown_otherwise(nested_id, fields, record).into_iter();
                let shown: Vec<_> = shown.map(|value| (trainee_id.to_owned(), value)).collect();
                self.store().set_accepted(&shown)
            }
            Mode::Check => Ok(()),
        }
    }
}

fn etag(reply: &Reply) -> Result<&str> {
    reply
        .etag
        .as_deref()
        .context("the register showed a record without an entity tag; inform the operator")
}

/// The body of an update: a blank cell clears a field.
fn body_of(changes: &[FieldChange]) -> String {
    let fields: Map<String, Value> = changes
        .iter()
        .map(|change| (change.field.clone(), input(&change.cell)))
        .collect();
    json!({ "data": fields }).to_string()
}

/// The problems of a row, unless every row would have the same.
fn refused(
    row: &TraineeRow,
    reply: &Reply,
    column_name: impl Fn(&str) -> String,
) -> Result<RowOutcome> {
    match reply.status {
        401 | 410 => Err(reply.refusal()),
        300..=399 => bail!("{}", reply.refusal()),
        status => Ok(RowOutcome::Refused(answer_problems(
            row,
            u64::from(status),
            &reply.body,
            column_name,
        ))),
    }
}
