//! The report about a file: each problem by line and column.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;
use trainee_file::{Problem, TraineeRow};

use crate::export::finish;
use crate::private_file::PrivateFile;

/// Returns the problems of a row that the register refused. `column_name` returns the column of a
/// field.
pub(crate) fn answer_problems(
    row: &TraineeRow,
    status: u64,
    body: &Value,
    column_name: impl Fn(&str) -> String,
) -> Vec<Problem> {
    let errors = body["errors"].as_array().into_iter().flatten();
    let mut problems: Vec<Problem> = errors
        .map(|error| error_problem(row.line, status, error, &column_name))
        .collect();
    if problems.is_empty() {
        let message =
            format!("the register answered {status} and did not say why; push the file again");
        let code = format!("status_{status}");
        problems.push(Problem::new(row.line, "", &code, message));
    }
    problems
}

fn error_problem(
    line: u64,
    status: u64,
    error: &Value,
    column_name: impl Fn(&str) -> String,
) -> Problem {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    let column = if text("field") == "data" {
        String::new()
    } else {
        column_name(text("field"))
    };
    let code = if text("code").is_empty() {
        format!("status_{status}")
    } else {
        text("code").to_owned()
    };
    Problem::new(line, &column, &code, text("message"))
}

/// Where the report about a file is: `intake.report.csv` for `intake.csv`.
pub(crate) fn report_path(file: &Path) -> PathBuf {
    file.with_extension("report.csv")
}

/// Writes the report, by line, in the place of that of an earlier run. Without problems it has its
/// first line alone.
pub(crate) fn write_report(path: &Path, problems: &mut [Problem]) -> Result<()> {
    problems.sort();
    let mut writer = csv::Writer::from_writer(PrivateFile::create(path)?);
    writer.write_record(["line", "column", "code", "message"])?;
    for problem in problems.iter() {
        writer.write_record([
            &problem.line.to_string(),
            &problem.column,
            &problem.code,
            &problem.message,
        ])?;
    }
    finish(writer)
}

/// How many rows have problems.
pub(crate) fn refused_rows(problems: &[Problem]) -> usize {
    let lines: std::collections::BTreeSet<u64> =
        problems.iter().map(|problem| problem.line).collect();
    lines.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn report_names_line_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = report_path(&folder.path().join("intake.csv"));
        assert!(path.ends_with("intake.report.csv"));
        let row = TraineeRow {
            line: 7,
            ..TraineeRow::default()
        };
        let body = json!({ "errors": [
            { "error": "UnprocessableEntity", "message": "email cannot be blank", "code": "blank", "field": "email" },
            { "error": "NotFound", "message": "trainee not found" },
        ] });
        let mut problems = answer_problems(&row, 422, &body, str::to_owned);
        problems.insert(0, Problem::new(9, "", "x", "y"));
        write_report(&path, &mut problems).unwrap();
        let report = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            report,
            "line,column,code,message\n7,,status_422,trainee not found\n7,email,blank,email cannot be blank\n9,,x,y\n"
        );
        assert_eq!(refused_rows(&problems), 2);
    }

    #[test]
    fn answer_without_a_reason_is_a_problem() {
        let row = TraineeRow {
            line: 7,
            ..TraineeRow::default()
        };
        assert_eq!(
            answer_problems(&row, 500, &Value::Null, str::to_owned)[0].code,
            "status_500"
        );
    }
}
