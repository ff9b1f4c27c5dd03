//! Lists what only one version uses of what versions share, for `cargo xtask remove-version`. The
//! argument is its label.

use std::error::Error;

use domain::Lists;
use version_tools::only_use::only_used_by;

fn main() -> Result<(), Box<dyn Error>> {
    let label = std::env::args()
        .nth(1)
        .ok_or("give the label of a version")?;
    let version = versions::all().named(&label)?.version;
    let others: Vec<_> = versions::SERVED
        .iter()
        .copied()
        .filter(|other| other.label != version.label)
        .collect();
    for part in only_used_by(version, &others, Lists::embedded()) {
        println!("{part}");
    }
    Ok(())
}
