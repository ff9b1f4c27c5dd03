//! Checks of all commands and options.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::*;

const PROGRAM: &str = "trainee-register";

#[test]
fn command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

/// All options of all commands, with the words of their commands.
fn options(command: &clap::Command, words: &str) -> Vec<(String, clap::Arg)> {
    let own = command
        .get_arguments()
        .filter(|option| option.get_long().is_some());
    let own = own.filter(|option| !["help", "version"].contains(&option.get_id().as_str()));
    let mut options: Vec<_> = own
        .map(|option| (words.to_owned(), option.clone()))
        .collect();
    for command in command.get_subcommands() {
        let word = command.get_name().to_uppercase().replace('-', "_");
        options.extend(self::options(command, &format!("{words}{word}_")));
    }
    options
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

#[test]
fn every_option_has_an_environment_variable_of_its_name() {
    let options = options(&CommandLine::command(), "");
    assert!(options.len() > 30);
    for (words, option) in options {
        let name = option.get_id().as_str().to_uppercase();
        let variable = option
            .get_env()
            .and_then(|env| env.to_str())
            .unwrap_or_default();
        let expected = [
            format!("REGISTER_{name}"),
            format!("REGISTER_{words}{name}"),
        ];
        assert!(
            expected.iter().any(|expected| expected == variable),
            "{variable:?} is not one of {expected:?}"
        );
    }
}

#[test]
fn no_two_options_share_an_environment_variable() {
    let mut meanings = HashMap::new();
    for (words, option) in options(&CommandLine::command(), "") {
        let said = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
        // Commands may share an option only with the same meaning.
        let meaning = (
            said(option.get_help()),
            said(option.get_long_help()),
            option.get_default_values().to_vec(),
        );
        let variable = option.get_env().unwrap().to_owned();
        let (first, known) = meanings
            .entry(variable)
            .or_insert_with(|| (words.clone(), meaning.clone()));
        assert_eq!(
            *known,
            meaning,
            "{} of {first} and {words}",
            option.get_env().unwrap().display()
        );
    }
}

#[test]
fn every_option_of_serve_stands_on_the_page_for_operators() {
    let page = include_str!("../../../../docs/operations/install.md");
    let commands = CommandLine::command();
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
pub(super) fn split_arguments(line: &str) -> Vec<String> {
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
