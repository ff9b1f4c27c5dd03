//! The list of commands in the help of the program. clap cannot group commands.

use clap::Command;

/// Groups of commands with their headings, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run a register", &["serve", "sandbox"]),
    ("Providers and users", &["provider", "token", "user"]),
    (
        "Trainees and the registry",
        &["trainee", "registry", "audit", "history"],
    ),
    (
        "Schools, partners and code lists",
        &["school", "partner", "reference-data"],
    ),
    ("Usage and versions", &["usage", "request", "version"]),
    (
        "Database",
        &["migrate", "check", "backup", "restore", "copy"],
    ),
    ("Program", &["completions", "man", "help"]),
];

/// Lists the commands in their groups.
pub(super) fn with_groups(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let list = list_commands(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}\n\n\
         Run `{name} help COMMAND` for a command's options and examples.\n"
    ))
}

/// The commands with their descriptions, under the headings of their groups.
fn list_commands(command: &Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, commands)| *commands);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut list = String::new();
    for (group, commands) in GROUPS {
        list.push_str(&format!("\n{group}:\n"));
        for name in *commands {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| "Print help".to_owned(), ToString::to_string);
            list.push_str(&format!("  {name:width$}  {about}\n"));
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CommandLine;

    #[test]
    fn every_command_has_a_group() {
        let command = CommandLine::command();
        let commands: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let expected: BTreeSet<&str> = grouped
            .iter()
            .copied()
            .filter(|name| *name != "help")
            .collect();
        assert_eq!(commands, expected);
        assert_eq!(
            grouped.len(),
            expected.len() + 1,
            "a command is in two groups"
        );
    }
}
