//! Writes the documents generated from the code and the list of versions in the README, and removes
//! outdated documents, for `make docs`. The argument is the folder of the documents.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use version_tools::documents::files;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args().nth(1).ok_or("give a folder")?.into();
    for document in files::all(versions::all()) {
        let path = folder.join(document.file);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(&path, document.text)?;
    }
    // The README stands next to the folder of documents.
    let readme = folder.join("..").join(files::README);
    let text = fs::read_to_string(&readme)?;
    if let Some(text) = files::readme_with_versions(&text, versions::all()) {
        fs::write(&readme, text)?;
    }
    for path in files::outdated(&folder, versions::all()) {
        fs::remove_file(&path)?;
    }
    Ok(())
}
