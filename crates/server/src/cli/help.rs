//! The help of the program: groups of commands, examples, and headings of the options of `serve`.

use adapter_kit::Served;
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
        &["school", "partner", "import", "reference-data"],
    ),
    ("Usage and versions", &["usage", "request", "version"]),
    (
        "Database",
        &["migrate", "check", "backup", "restore", "copy"],
    ),
    ("Program", &["completions", "man", "docs", "help"]),
];

/// Examples: the command, its arguments, and a description. OLDEST and NEWEST stand for the labels
/// of served versions.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("serve", "--demo", "Start a sandbox with a demo provider"),
    (
        "serve",
        "--environment production --listen 10.0.0.5:8080",
        "Start a production register",
    ),
    (
        "migrate",
        "--database-url postgres://register@db/register",
        "Update the schema before servers start",
    ),
    (
        "migrate",
        "--check",
        "Check whether the schema is up to date",
    ),
    (
        "backup",
        "/backup/register.db",
        "Back up while a server runs",
    ),
    (
        "restore",
        "/backup/register.db",
        "Restore a backup after stopping all servers",
    ),
    (
        "check",
        "--part 1/4 --pause 50",
        "Check the first quarter of the trainees, with pauses",
    ),
    (
        "copy",
        "--from sqlite://var/register.db --to postgres://register@db/register",
        "Move a register to PostgreSQL",
    ),
    (
        "provider add",
        "--ukprn 10012345 --name \"A University\"",
        "Add a provider",
    ),
    (
        "provider rename",
        "--ukprn 10012345 --name \"Another University\"",
        "Rename a provider",
    ),
    (
        "provider list",
        "--output json",
        "List all providers as JSON",
    ),
    ("provider close", "10012345", "Close a provider"),
    ("provider reopen", "10012345", "Reopen a provider"),
    (
        "token issue",
        "--provider 10012345 --name \"Student records\"",
        "Issue a token",
    ),
    (
        "token rotate",
        "1 --overlap 14",
        "Replace token 1, which stays valid for 14 days",
    ),
    (
        "token list",
        "--expiring 30",
        "List tokens that expire within 30 days",
    ),
    ("token revoke", "1", "Revoke token 1"),
    (
        "user invite",
        "--provider 10012345 --email a@example.ac.uk",
        "Invite a user for a provider",
    ),
    (
        "user invite",
        "--operator --email o@example.com",
        "Invite an operator",
    ),
    (
        "user list",
        "--provider 10012345",
        "List the users of a provider",
    ),
    ("user role", "1 viewer", "Change the role of user 1"),
    ("user remove", "1", "Remove the access of user 1"),
    (
        "user erase",
        "1 --reason \"request 17\"",
        "Erase the e-mail address of user 1",
    ),
    ("user sign-out", "1", "End the sessions of user 1"),
    (
        "user activity",
        "--since 2026-01-01",
        "Show activity since 1 January 2026",
    ),
    ("school import", "schools.csv", "Import schools"),
    (
        "partner import",
        "training_partners.csv",
        "Import training partners",
    ),
    ("import list", "--output csv", "List imports as CSV"),
    ("import show", "3", "Show the refused rows of import 3"),
    (
        "trainee erase",
        "Fs4G74pwBJ1WWa15FMzZsQKn --provider 10012345 --ground \"request 17\"",
        "Erase a trainee",
    ),
    (
        "trainee erasures",
        "--output csv",
        "List erasures for `trainee erase --again`",
    ),
    (
        "registry issue-trn",
        "Fs4G74pwBJ1WWa15FMzZsQKn 1234567",
        "Issue a TRN",
    ),
    (
        "registry award",
        "--from-file awards.csv",
        "Confirm awards for trainees in a file",
    ),
    (
        "registry reinstate",
        "Fs4G74pwBJ1WWa15FMzZsQKn --date 2026-09-01",
        "Reinstate a deferred trainee",
    ),
    (
        "registry return-recommendation",
        "Fs4G74pwBJ1WWa15FMzZsQKn",
        "Return a recommendation",
    ),
    (
        "registry undo-withdrawal",
        "Fs4G74pwBJ1WWa15FMzZsQKn",
        "Undo a withdrawal",
    ),
    (
        "registry discard",
        "Fs4G74pwBJ1WWa15FMzZsQKn",
        "Discard a record",
    ),
    (
        "registry queue",
        "--for award",
        "List trainees awaiting an award",
    ),
    (
        "reference-data export",
        "lists",
        "Write the code lists into a folder",
    ),
    (
        "usage",
        "--provider 10012345",
        "Count a provider's requests",
    ),
    (
        "usage export",
        "--provider 10012345 --months 6",
        "Print counts of six months as CSV",
    ),
    (
        "request list",
        "--provider 10012345",
        "List the batches and requests of the last 30 days",
    ),
    (
        "request show",
        "17 --provider 10012345",
        "Show the refused records of a batch",
    ),
    (
        "request search",
        "--provider 10012345 --status 422",
        "List requests refused with status 422",
    ),
    (
        "request refused",
        "--provider 10012345",
        "Show the most frequent refusals",
    ),
    (
        "audit",
        "Fs4G74pwBJ1WWa15FMzZsQKn",
        "Show the history of a trainee",
    ),
    (
        "history remove",
        "--before 2026-01",
        "Remove the history before January 2026",
    ),
    (
        "sandbox seed",
        "--provider 10012345 --trainees 100",
        "Add 100 invented trainees",
    ),
    (
        "version difference",
        "--from OLDEST --to NEWEST",
        "Show changes between two versions",
    ),
    ("version openapi", "NEWEST", "Print an OpenAPI document"),
    (
        "version readiness",
        "OLDEST",
        "Show providers still using a version",
    ),
    (
        "version translate",
        "--from OLDEST --to NEWEST body.json",
        "Translate a request body",
    ),
    ("completions", "bash", "Print completions for bash"),
    ("man", "man1", "Write the manual pages into a folder"),
    ("docs", "docs", "Write the generated documents"),
];

/// Headings of the options of `serve`, with the identifiers of the options.
const SERVE_HEADINGS: &[(&str, &[&str])] = &[
    (
        "Register",
        &[
            "database_url",
            "environment",
            "versions",
            "reference_data",
            "demo",
            "clock_check",
        ],
    ),
    (
        "Addresses and TLS",
        &[
            "listen",
            "operator_listen",
            "tls_certificate",
            "tls_key",
            "trusted_proxies",
        ],
    ),
    (
        "Limits",
        &[
            "rate_limit",
            "rate_window",
            "page_rate_limit",
            "max_connections",
        ],
    ),
    (
        "Timeouts",
        &[
            "header_timeout",
            "body_timeout",
            "keep_alive",
            "stop_delay",
            "drain_time",
        ],
    ),
    (
        "Database connections",
        &["read_connections", "write_connections"],
    ),
    ("Sandbox registry", &["registry", "registry_delay"]),
    ("Monitoring", &["shadow_share", "request_log"]),
    (
        "Settings pages",
        &["settings", "operator_pages", "settings_url"],
    ),
    (
        "OpenID Connect",
        &[
            "oidc_issuer",
            "oidc_client_id",
            "oidc_client_secret_file",
            "oidc_scopes",
            "oidc_provider_claim",
            "oidc_role_claim",
            "oidc_admin_value",
            "oidc_operator_value",
        ],
    ),
    ("Mail", &["smtp_url", "smtp_password_file", "mail_from"]),
];

/// Adds groups, examples and headings to the help.
pub(super) fn with_help(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let list = list_commands(&command);
    let command = command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}\n\n\
         Run `{name} help COMMAND` for a command's options and examples.\n"
    ));
    let command = add_examples(command, &name, "");
    command.mut_subcommand("serve", |mut serve| {
        for (heading, options) in SERVE_HEADINGS {
            for option in *options {
                let has_option = serve
                    .get_arguments()
                    .any(|argument| argument.get_id() == option);
                if has_option {
                    serve = serve.mut_arg(option, |argument| argument.help_heading(*heading));
                }
            }
        }
        serve
    })
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

/// Adds the examples to the help of a command and of its subcommands. `path` holds the names of the
/// command and its parents, such as `token issue`; for the program it is empty.
fn add_examples(command: Command, program: &str, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|child| child.get_name().to_owned())
        .collect();
    let examples = format_examples(program, path);
    let mut command = if examples.is_empty() {
        command
    } else {
        command.after_help(examples)
    };
    for name in names {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path} {name}")
        };
        command = command.mut_subcommand(name, |child| add_examples(child, program, &path));
    }
    command
}

/// The arguments with the labels of the oldest and the newest served version.
fn with_served_versions(arguments: &str) -> String {
    let label = |served: Option<&Served>| {
        served.map_or_else(String::new, |served| served.version.label.to_string())
    };
    let oldest = label(versions::all().iter().next());
    let newest = label(versions::all().newest());
    arguments
        .replace("OLDEST", &oldest)
        .replace("NEWEST", &newest)
}

/// The help text with the examples of a command; empty if there are none.
fn format_examples(program: &str, path: &str) -> String {
    let examples = EXAMPLES.iter().filter(|(command, ..)| *command == path);
    let lines: Vec<String> = examples
        .map(|(command, arguments, about)| {
            let arguments = with_served_versions(arguments);
            format!("  # {about}\n  {program} {command} {arguments}")
        })
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("Examples:\n{}", lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CommandLine;

    /// The words of every command that can be run.
    fn list_runnable(command: &Command, path: &str, paths: &mut BTreeSet<String>) {
        if !command.is_subcommand_required_set() && !path.is_empty() {
            paths.insert(path.to_owned());
        }
        for child in command.get_subcommands() {
            list_runnable(child, format!("{path} {}", child.get_name()).trim(), paths);
        }
    }

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

    #[test]
    fn every_command_has_an_example_that_it_accepts() {
        let mut commands = BTreeSet::new();
        list_runnable(&CommandLine::command(), "", &mut commands);
        let with_examples: BTreeSet<String> = EXAMPLES
            .iter()
            .map(|(command, ..)| (*command).to_owned())
            .collect();
        assert_eq!(commands, with_examples);
        let errors = EXAMPLES.iter().filter_map(|(command, arguments, _)| {
            let line = format!("{command} {}", with_served_versions(arguments));
            let words = crate::cli::tests::split_arguments(&line);
            let words = std::iter::once("trainee-register".to_owned()).chain(words);
            let parsed = CommandLine::command().try_get_matches_from(words);
            Some(format!("{line}: {}", parsed.err()?))
        });
        let errors: Vec<String> = errors.collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn every_option_of_serve_has_a_heading() {
        let mut command = with_help(CommandLine::command());
        command.build();
        let serve = command.find_subcommand("serve").unwrap();
        let options = serve
            .get_arguments()
            .filter(|option| option.get_long().is_some());
        let without: Vec<&str> = options
            .filter(|option| option.get_help_heading().is_none())
            .map(|option| option.get_id().as_str())
            .filter(|id| !["help", "version"].contains(id))
            .collect();
        assert_eq!(without, [] as [&str; 0]);
    }
}
