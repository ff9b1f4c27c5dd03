//! The command that translates bodies between versions.

use std::io::Read as _;
use std::{fs, io};

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::read::JsonTree;
use adapter_kit::{Served, UnknownVersion, read};
use chrono::{NaiveDate, Utc};
use clap::Args;
use domain::Lists;
use serde::Serialize;
use version_tools::translate::{BodyKind, Translation, TranslationContext, translate};

use super::super::CommandError;
use super::super::values::date;
use crate::cli::output::{self, ReportFormat, ReportOutput};

#[derive(Debug, Args)]
pub(crate) struct Translate {
    /// Version of the bodies
    #[arg(long, value_name = "LABEL", value_parser = served)]
    from: &'static Served,
    /// Version to translate to
    #[arg(long, value_name = "LABEL", value_parser = served)]
    to: &'static Served,
    #[command(flatten)]
    output: ReportOutput,
    /// Record type: trainee, placement, degree, withdrawal, deferral or recommendation [default:
    /// detected from the keys]
    #[arg(long, value_parser = word::<RecordKind>)]
    record: Option<RecordKind>,
    /// Direction of the bodies: request or reply [default: detected from the keys]
    #[arg(long, value_parser = word::<Direction>)]
    direction: Option<Direction>,
    /// Purpose of requests: create or update [default: update if fewer than half of the required
    /// fields are present]
    #[arg(long, value_parser = word::<Purpose>)]
    purpose: Option<Purpose>,
    /// Date that counts as today when bodies are checked [default: today]
    #[arg(long, value_name = "DATE", value_parser = date)]
    today: Option<NaiveDate>,
    /// File with the bodies, or - for standard input
    #[arg(value_name = "FILE")]
    file: String,
}

/// Parses the label of a served version.
fn served(text: &str) -> Result<&'static Served, UnknownVersion> {
    versions::all().named(text)
}

/// Parses one of the words of an option.
fn word<T: std::str::FromStr<Err = adapter_kit::body_kind::InvalidChoice>>(
    text: &str,
) -> Result<T, String> {
    text.parse().map_err(|unknown: T::Err| unknown.to_string())
}

impl Translate {
    #[expect(clippy::disallowed_methods, reason = "a translation has no database")]
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let text = self.text().map_err(|source| CommandError::Unreadable {
            file: self.file.clone(),
            source,
        })?;
        let bodies = bodies(&text).map_err(|(line, source)| {
            let place = line.map_or_else(
                || self.file.clone(),
                |line| format!("{}, line {line}", self.file),
            );
            CommandError::Malformed { place, source }
        })?;
        let body_kind = BodyKind {
            record: self.record,
            direction: self.direction,
            purpose: self.purpose,
        };
        let today = self.today.unwrap_or_else(|| Utc::now().date_naive());
        let context = TranslationContext {
            today,
            lists: Lists::embedded(),
            choices: &[],
        };
        let mut lost = 0;
        let mut problems = 0;
        for (line, body) in bodies {
            let translation = translate(&body, self.from, self.to, &body_kind, context);
            lost += translation.lost.len();
            problems += translation.problems.len();
            match self.output.format() {
                ReportFormat::Table => {
                    print(&translation.data, line.is_some())?;
                    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
                    report(&translation)
                        .iter()
                        .for_each(|line| eprintln!("{place}{line}"));
                }
                ReportFormat::Json => print(&translation, line.is_some())?,
            }
        }
        if lost + problems > 0 {
            Err(CommandError::NotClean { lost, problems })
        } else {
            Ok(())
        }
    }

    /// The content of the file, or of standard input.
    fn text(&self) -> io::Result<Vec<u8>> {
        if self.file != "-" {
            return fs::read(&self.file);
        }
        let mut text = Vec::new();
        io::stdin().read_to_end(&mut text)?;
        Ok(text)
    }
}

/// A body, with its line if the file has one body per line.
type Located<T> = (Option<usize>, T);

/// Parses one body, or one body per line. `Err` is the first syntax error, with its line if the
/// text has one body per line.
fn bodies(text: &[u8]) -> Result<Vec<Located<JsonTree>>, Located<read::Malformed>> {
    let whole = match read::parse_json(text) {
        Ok(body) => return Ok(vec![(None, body)]),
        Err(malformed) => malformed,
    };
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let filled: Vec<_> = lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .collect();
    // If the first line is not JSON, the text is one body that spans several lines.
    if filled
        .first()
        .is_none_or(|(_, first)| read::parse_json(first).is_err())
    {
        return Err((None, whole));
    }
    let parse_line = |(index, line)| match read::parse_json(line) {
        Ok(body) => Ok((Some(index + 1), body)),
        Err(malformed) => Err((Some(index + 1), malformed)),
    };
    filled.into_iter().map(parse_line).collect()
}

/// Prints a value as JSON, on one line or with line breaks.
fn print(value: &impl Serialize, on_a_line: bool) -> Result<(), CommandError> {
    if on_a_line {
        output::json_line(value)
    } else {
        output::json(value)
    }
}

/// The report of a translation, line by line.
fn report(translation: &Translation) -> Vec<String> {
    let renamed = translation
        .renames
        .iter()
        .map(|rename| format!("renamed: {} is now {}", rename.path, rename.to));
    let lost = translation
        .lost
        .iter()
        .map(|loss| format!("lost: {} {}: {}", loss.path, loss.value, loss.message));
    let problems = translation
        .problems
        .iter()
        .map(|problem| match &problem.located {
            Some(located) => format!(
                "problem: {} ({} at {})",
                problem.message, located.code, located.field
            ),
            None => format!("problem: {}", problem.message),
        });
    let notices = translation.notices.iter().flat_map(|notice| {
        let message = format!("notice: {}: {}", notice.path, notice.message);
        let candidates = notice.candidates.iter();
        let candidates = candidates.map(|candidate| {
            format!(
                "candidate: {}: {} {}",
                notice.path, candidate.code, candidate.name
            )
        });
        std::iter::once(message).chain(candidates)
    });
    let mut lines: Vec<String> = renamed.chain(lost).chain(problems).chain(notices).collect();
    if let Some(other) = &translation.otherwise
        && let (Some(first), Some(second)) =
            (translation.body_kind.direction, other.body_kind.direction)
    {
        let (first, second) = (first.name(), second.name());
        lines.push(format!(
            "read as a {first}, but can also be a {second}; give --direction"
        ));
        let other = report(other);
        lines.extend(other.iter().map(|line| format!("as a {second}: {line}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn file_has_body_array_or_body_lines() {
        let read = |text: &str| bodies(text.as_bytes());
        assert_eq!(
            read(" {\n\"data\": 1}\n").unwrap(),
            [(None, json!({"data": 1}).into())]
        );
        assert_eq!(read("[{}, {}]").unwrap(), [(None, json!([{}, {}]).into())]);
        assert_eq!(
            read("{}\n\r\n{\"a\": 1}\n").unwrap(),
            [
                (Some(1), json!({}).into()),
                (Some(3), json!({"a": 1}).into())
            ]
        );
        assert_eq!(read("{}\n\n{\n").unwrap_err().0, Some(3));
        assert_eq!(read("{\n\"data\": \n").unwrap_err().0, None);
        assert_eq!(read("").unwrap_err().0, None);
    }
}
