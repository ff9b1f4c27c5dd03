//! What must hold for every command and option.

use std::collections::HashMap;

use super::*;

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

/// Every option of every command, behind the words of the command.
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
fn every_command_that_is_not_recorded_exists() {
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
            "{variable:?} is none of {expected:?}"
        );
    }
}

#[test]
fn no_two_options_share_an_environment_variable() {
    let mut meanings = HashMap::new();
    for (words, option) in options(&CommandLine::command(), "") {
        let said = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
        // An option that several commands have is one and the same when they say the same of it.
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
    let page = include_str!("../../../../docs/operations.md");
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
