//! Fills a database from lines of JSON: `{"token":{"text":...,"ukprn":...}}`, and then
//! `{"trainee":...}` with a record as v2026.1 shows it, in the order of the last changes.

use std::io::BufRead;
use std::mem::take;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Outcome;
use crate::records::{Degree, FullTrainee, Placement, Trainee};
use crate::service::digest;
use crate::store::Store;
use crate::views::DISABILITIES;

/// Trainees stored in one transaction.
const CHUNK: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Token { text: String, ukprn: String },
    Trainee(Map<String, Value>),
}

/// Creates the tables and stores what the lines have.
pub(crate) async fn fill(store: &impl Store, lines: impl BufRead) -> Outcome {
    store.create().await?;
    let (mut tokens, mut trainees) = (Vec::new(), Vec::new());
    for line in lines.lines() {
        match serde_json::from_str(&line?)? {
            Line::Token { text, ukprn } => tokens.push((digest(&text), ukprn)),
            Line::Trainee(record) => trainees.push(full_trainee(record)?),
        }
        if trainees.len() >= CHUNK {
            store.fill(take(&mut tokens), take(&mut trainees)).await?;
        }
    }
    store.fill(tokens, trainees).await?;
    Ok(())
}

fn full_trainee(mut record: Map<String, Value>) -> serde_json::Result<FullTrainee> {
    let codes: Vec<&str> = (1..=DISABILITIES)
        .map(|position| text(record.get(&format!("disability{position}"))))
        .collect();
    let disabilities = codes.join(",").trim_end_matches(',').to_owned();
    let reasons = record.get("withdrawal_reasons").and_then(Value::as_array);
    let reasons: Vec<&str> = reasons
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let reasons = reasons.join(",");
    record.insert("disabilities".to_owned(), disabilities.into());
    record.insert("withdrawal_reasons".to_owned(), reasons.into());
    let (placements, degrees) = (record.remove("placements"), record.remove("degrees"));
    let placements: Option<Vec<Placement>> = placements.map(serde_json::from_value).transpose()?;
    let degrees: Option<Vec<Degree>> = degrees.map(serde_json::from_value).transpose()?;
    Ok(FullTrainee {
        trainee: serde_json::from_value::<Trainee>(Value::Object(record))?,
        placements: placements.unwrap_or_default(),
        degrees: degrees.unwrap_or_default(),
    })
}

/// Returns a text; a value of another type is blank.
fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}
