//! Tells scripts about the tools of tests: without arguments, lists their names; with names, prints
//! those that are missing, and exits with the status 1 if there are any.
//!
//! A PostgreSQL server that the environment names counts as the tool `postgresql`.

use std::process::ExitCode;

use test_support::{Tool, has_postgres_server, missing_tools};

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        Tool::ALL
            .iter()
            .for_each(|tool| println!("{}", tool.name()));
        return ExitCode::SUCCESS;
    }
    let mut tools = Vec::new();
    for name in names {
        let Some(tool) = Tool::ALL.iter().copied().find(|tool| tool.name() == name) else {
            eprintln!("there is no tool {name}");
            return ExitCode::from(2);
        };
        tools.push(tool);
    }
    tools.retain(|tool| *tool != Tool::Postgresql || !has_postgres_server());
    match missing_tools(&tools) {
        None => ExitCode::SUCCESS,
        Some(missing) => {
            println!("{missing}");
            ExitCode::FAILURE
        }
    }
}
