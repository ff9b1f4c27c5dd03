//! Checks of the sources, and commands to create and remove a version: `cargo xtask COMMAND`.
//!
//! Each command has its own module. A check takes the texts of the sources, so that its tests need
//! no files.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo and make pass options as environment variables"
)]

mod documents;
mod failure;
mod figures;
mod imports;
mod lines;
mod new_version;
mod remove_version;
mod snapshots;
mod sources;
mod structure;
mod style;
mod versions;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use self::failure::Failure;
use self::sources::Sources;

const USAGE: &str = "usage: cargo xtask COMMAND

    structure                   check the dependencies between crates and the length of files
    imports [CRATE...]          find import cycles and imports from a higher layer
    check-style                 check the wording of code, documents and commits
    documents                   check names, links and tables in documents
    new-version LABEL FROM      create a version as a copy of another
    remove-version LABEL        remove a version and its files
    snapshots [ARGUMENT...]     run the tests and accept changed snapshots; arguments go to cargo test
    lines                       count the lines of the product, of tests and of test crates
    figures [--places]          count what makes the code readable: names of functions, comments, lengths;
                                with --places, list the places behind each figure";

fn run(arguments: &[&str]) -> Result<String, Failure> {
    // Every command runs in the top folder. `CARGO_MANIFEST_DIR` is read when the program runs,
    // because several copies of the sources may share one build of this program.
    if let Some(package) = env::var_os("CARGO_MANIFEST_DIR") {
        env::set_current_dir(Path::new(&package).join("../.."))?;
    }
    match arguments {
        ["structure"] => structure::check(&Sources::read()?),
        ["imports"] => {
            let sources = Sources::read()?;
            imports::check(&sources, &sources.crates())
        }
        ["imports", crates @ ..] => imports::check(&Sources::read()?, crates),
        ["check-style"] => style::check(&Sources::read()?),
        ["documents"] => documents::check(&Sources::read()?),
        ["new-version", label, from] => new_version::run(label, from),
        ["new-version", ..] => Err(new_version::USAGE.into()),
        ["remove-version", label] => remove_version::run(label),
        ["remove-version", ..] => Err(remove_version::USAGE.into()),
        ["snapshots", arguments @ ..] => snapshots::run(arguments),
        ["lines"] => Ok(lines::report(&Sources::read()?)),
        ["figures"] => figures::check(&Sources::read()?),
        ["figures", "--places"] => Ok(figures::list_places(&Sources::read()?)),
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(Failure(lines)) => {
            eprintln!("{}", lines.join("\n"));
            ExitCode::FAILURE
        }
    }
}
