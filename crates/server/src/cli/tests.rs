//! Checks of all commands and options.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::*;

const PROGRAM: &str = "trainee-register";

#[test]
fn command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn unrecorded_commands_exist() {
    for name in UNRECORDED {
        let commands = CommandLine::command();
        let found = name
            .split(' ')
            .try_fold(&commands, |command, name| command.find_subcommand(name));
        assert!(
            found.is_some_and(|command| !command.is_subcommand_required_set()),
            "{name}"
        );
    }
}

/// The options of the command itself.
fn own_options(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    let options = command.get_arguments();
    options.filter(|option| {
        option.get_long().is_some() && !["help", "version"].contains(&option.get_id().as_str())
    })
}

/// All commands that can be run, with their words, such as `token list`.
fn runnable_commands(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
    let mut found = Vec::new();
    for command in command.get_subcommands() {
        let words = format!("{words} {}", command.get_name()).trim().to_owned();
        if command.is_subcommand_required_set() {
            found.extend(runnable_commands(command, &words));
        } else {
            found.push((words, command.clone()));
        }
    }
    found
}

#[test]
fn only_serve_and_register_options_have_variables() {
    let of_register = ["database_url", "environment", "reference_data"];
    for (words, command) in runnable_commands(&CommandLine::complete_command(), "") {
        for option in own_options(&command) {
            let id = option.get_id().as_str();
            let expected = match id {
                // The name of 0.1.0, when another command had an option with the short name.
                "settings_url" if words == "serve" => {
                    Some("REGISTER_SERVE_SETTINGS_URL".to_owned())
                }
                _ if words == "serve" || of_register.contains(&id) => {
                    Some(format!("REGISTER_{}", id.to_uppercase()))
                }
                _ => None,
            };
            let variable = option.get_env().and_then(|variable| variable.to_str());
            assert_eq!(variable, expected.as_deref(), "--{id} of {words}");
        }
    }
}

#[test]
fn every_command_accepts_its_example() {
    let commands = runnable_commands(&CommandLine::command(), "");
    assert!(commands.len() >= 30);
    for (words, command) in commands {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let examples: Vec<_> = help.split(&format!("{PROGRAM} ")).skip(1).collect();
        assert!(!examples.is_empty(), "{words} has no example");
        for example in examples {
            let example = example.trim();
            assert!(
                example.starts_with(&words),
                "{example} is no example of {words}"
            );
            let arguments = split_arguments(&format!("{PROGRAM} {example}"));
            let parsed = CommandLine::command().try_get_matches_from(arguments);
            assert!(parsed.is_ok(), "{example}: {:?}", parsed.err());
        }
    }
}

#[test]
fn every_option_of_serve_has_a_heading() {
    let commands = CommandLine::command();
    let serve = commands.find_subcommand("serve").unwrap();
    let without: Vec<_> = own_options(serve)
        .filter(|option| option.get_help_heading().is_none())
        .map(|option| option.get_id().as_str())
        .collect();
    assert_eq!(without, [""; 0]);
}

#[test]
fn operator_document_has_every_option_of_serve() {
    let page = include_str!("../../../../docs/operations/install.md");
    let commands = CommandLine::complete_command();
    let serve = commands.find_subcommand("serve").unwrap();
    for variable in serve.get_arguments().filter_map(|option| option.get_env()) {
        assert!(
            page.contains(&format!("`{}`", variable.to_str().unwrap())),
            "{}",
            variable.display()
        );
    }
}

/// The texts of all Markdown documents below a folder.
fn read_documents(folder: &Path, documents: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir()
            && !name.starts_with('.')
            && !["target", "node_modules", "var"].contains(&name.as_str())
        {
            read_documents(&path, documents);
        } else if name.ends_with(".md") {
            let text = fs::read_to_string(&path).unwrap();
            documents.push((path, text));
        }
    }
}

/// The arguments of all commands of this program in the code blocks of a document.
fn find_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut is_code = false;
    for line in text.replace("\\\n", " ").lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some((before, arguments)) = line.split_once("register ").filter(|_| is_code) else {
            continue;
        };
        // The program, or the shell function with its name in the installation document.
        let is_program = ["", "trainee-", "sudo trainee-"].contains(&before.trim_start())
            || before.ends_with("$(")
            || before.ends_with("$(trainee-");
        if is_program {
            let end = arguments
                .find(['|', ';', '>', '<', ')', '&'])
                .unwrap_or(arguments.len());
            let (arguments, _) = arguments.split_at(end);
            let arguments = arguments.split(" #").next().unwrap_or_default();
            commands.push(split_arguments(arguments));
        }
    }
    commands
}

/// Splits a line at spaces outside quotes, as a shell does.
fn split_arguments(line: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut quote = None;
    for c in line.trim().chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == ' ' => arguments.push(String::new()),
            _ => arguments.last_mut().unwrap().push(c),
        }
    }
    arguments.retain(|argument| !argument.is_empty() && argument != "&");
    arguments
}

#[test]
fn every_command_in_a_document_is_accepted() {
    let mut documents = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    read_documents(&root, &mut documents);
    let mut count = 0;
    for (path, text) in documents {
        for arguments in find_commands(&text) {
            count += 1;
            let program = [PROGRAM.to_owned()];
            let parsed =
                CommandLine::command().try_get_matches_from(program.iter().chain(&arguments));
            if let Err(error) = parsed {
                let is_help =
                    [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
                assert!(is_help, "{}: {arguments:?}\n{error}", path.display());
            }
        }
    }
    assert!(count > 30, "{count}");
}
