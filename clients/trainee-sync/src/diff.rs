//! `diff`: what `push` would do with a file, field by field.

use anyhow::Result;
use trainee_file::{FieldChange, NestedChange, Problem};

use crate::cli::{FileOptions, Outcome};
use crate::connection::Connection;
use crate::plan::{Plan, Update};
use crate::push::{Mode, prepare, send};
use crate::report::refused_rows;
use crate::table::json_text;

/// Prints what `push` would do. With `check`, the register looks at each change too, without
/// carrying it out.
pub(crate) fn diff(
    connection: &mut Connection,
    options: &FileOptions,
    check: bool,
) -> Result<Outcome> {
    let mut plan = prepare(connection, options)?;
    let (creates, updates, unchanged) = (plan.creates.len(), plan.updates.len(), plan.unchanged);
    let lines = lines(&plan);
    let mut problems = std::mem::take(&mut plan.problems);
    if check {
        let mut sent = send(connection, plan, Mode::Check, options)?;
        connection.progress.clear();
        sent.show_warnings();
        problems.append(&mut sent.problems);
    }
    lines.iter().for_each(|line| println!("{line}"));
    problems.sort();
    problems
        .iter()
        .for_each(|problem| println!("{}", describe(problem)));
    let refused = refused_rows(&problems);
    println!(
        "{creates} to register, {updates} to update, {unchanged} unchanged, {refused} refused ({})",
        connection.client.summary()
    );
    Ok(Outcome::from_refused_count(refused))
}

/// What is to be done, by line of the file.
fn lines(plan: &Plan) -> Vec<String> {
    let creates = plan
        .creates
        .iter()
        .map(|row| (row.line, format!("line {}: register", row.line)));
    let updates = plan
        .updates
        .iter()
        .map(|update| (update.row.line, describe_update(update)));
    let mut lines: Vec<(u64, String)> = creates.chain(updates).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn describe_update(update: &Update) -> String {
    let change = |name: &str, change: &FieldChange| {
        format!("\n    {name}: {:?} -> {:?}", change.shown, change.cell)
    };
    let fields = update
        .differences
        .fields
        .iter()
        .map(|field| change(&field.field, field));
    let nested = update
        .differences
        .nested
        .iter()
        .flat_map(|nested| match nested {
            NestedChange::Add(row) => {
                vec![format!(
                    "\n    {}: add {}",
                    row.column_name("").trim_end_matches('.'),
                    json_text(row.body())
                )]
            }
            NestedChange::Update { row, changes, .. } => changes
                .iter()
                .map(|field| change(&row.column_name(&field.field), field))
                .collect(),
        });
    let changes: String = fields.chain(nested).collect();
    format!(
        "line {}: update {}{changes}",
        update.row.line, update.trainee_id
    )
}

fn describe(problem: &Problem) -> String {
    let column = if problem.column.is_empty() {
        String::new()
    } else {
        format!(" {}:", problem.column)
    };
    format!(
        "line {}: refused:{column} {} ({})",
        problem.line, problem.message, problem.code
    )
}
