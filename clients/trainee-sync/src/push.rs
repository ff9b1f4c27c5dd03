//! `push`: registers and updates the trainees of a file, and writes a report about the rows that
//! were refused.
//!
//! It can be killed at any time and run again: a request that makes a record has a key that is
//! stored before it is sent, and an update is sent for what the register still shows otherwise. A
//! file that was pushed whole changes nothing.

mod create;
mod update;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use trainee_file::Problem;

use crate::cli::{FileOptions, Outcome};
use crate::connection::Connection;
use crate::export::is_exported;
use crate::place::Place;
use crate::plan::{Plan, plan};
use crate::pull::pull;
use crate::repair::repair;
use crate::report::{refused_rows, report_path, write_report};
use crate::table::{columns, read_table, trainee_rows, warn_of_missing_cells};

/// Changes in a reply, at most.
const PAGE_SIZE: usize = 500;

/// Whether requests are carried out.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(crate) enum Mode {
    CarryOut,
    /// The register checks them and stores nothing.
    Check,
}

impl Mode {
    /// The header `Prefer`: an unknown name is refused, so that no value is lost without a word.
    fn prefer(self) -> &'static str {
        match self {
            Self::CarryOut => "handling=strict",
            Self::Check => "handling=strict, validate-only",
        }
    }
}

/// What became of the rows.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) created: usize,
    pub(crate) updated: usize,
    pub(crate) unchanged: usize,
    pub(crate) problems: Vec<Problem>,
    /// What the register warned of, with the first line that it was about and the number of lines.
    warnings: BTreeMap<String, (u64, usize)>,
}

impl Sent {
    /// The register warned of something in a row that it accepted.
    fn warn(&mut self, line: u64, warning: &str) {
        let (first, count) = self.warnings.entry(warning.to_owned()).or_insert((line, 0));
        *first = line.min(*first);
        *count += 1;
    }

    /// Says what the register warned of.
    pub(crate) fn show_warnings(&self) {
        for (warning, (line, count)) in &self.warnings {
            eprintln!("the register warns: {warning} (line {line}; {count} rows)");
        }
    }
}

/// Carries out what a file says.
pub(crate) fn push(connection: &mut Connection, options: &FileOptions) -> Result<Outcome> {
    let plan = prepare(connection, options)?;
    let mut sent = send(connection, plan, Mode::CarryOut, options)?;
    if sent.created + sent.updated > 0 {
        pull(connection, PAGE_SIZE)?;
    }
    connection.progress.clear();
    sent.show_warnings();
    let report = report_path(&options.file);
    write_report(&report, &mut sent.problems)?;
    let refused = refused_rows(&sent.problems);
    println!(
        "{} registered, {} updated, {} unchanged, {refused} refused ({})",
        sent.created,
        sent.updated,
        sent.unchanged,
        connection.client.summary()
    );
    if refused > 0 {
        eprintln!(
            "{} names the rows that were refused: correct them in the file, and push it again",
            report.display()
        );
    }
    Ok(Outcome::from_refused_count(refused))
}

/// Brings the copy up to date, and compares the file with it.
pub(crate) fn prepare(connection: &mut Connection, options: &FileOptions) -> Result<Plan> {
    require_other_file(connection, &options.file)?;
    let mut table = read_table(&options.file, options.sheet.as_deref())?;
    warn_of_missing_cells(&table);
    let register = connection.register();
    let mut fields = register.input_fields()?;
    let version = &connection.identity.version;
    let columns = columns(&table, version, &fields.names, &options.ignore)?;
    fields.codes.load(&register, &columns)?;
    let doubtful = repair(&mut table, &columns, &fields.codes, &options.repairs)?;
    let rows = trainee_rows(&table, &columns);
    pull(connection, PAGE_SIZE)?;
    let mut plan = plan(&connection.store, rows, &options.match_column)?;
    plan.refuse(doubtful);
    Ok(plan)
}

/// Sends what is to be done: first the new trainees, then the changes of others.
pub(crate) fn send(
    connection: &mut Connection,
    plan: Plan,
    mode: Mode,
    options: &FileOptions,
) -> Result<Sent> {
    let mut sent = Sent {
        unchanged: plan.unchanged,
        problems: plan.problems,
        ..Sent::default()
    };
    let mut rows: Vec<_> = plan
        .updates
        .into_iter()
        .map(|update| (update.row, update.trainee_id))
        .collect();
    rows.extend(create::create(
        connection,
        &plan.creates,
        mode,
        &options.match_column,
        &mut sent,
    )?);
    update::update(
        connection,
        &rows,
        mode,
        usize::from(options.parallel),
        &mut sent,
    )?;
    Ok(sent)
}

/// Every pull writes the files of the copy again, which would undo changes in them.
fn require_other_file(connection: &Connection, file: &Path) -> Result<()> {
    if let Place::CsvFolder(folder) = &connection.place
        && is_exported(file, folder)
    {
        bail!(
            "{} is a file of the copy, which the next pull overwrites; push a copy of it from elsewhere",
            file.display()
        );
    }
    Ok(())
}
