//! The file of a form.

use http_kit::requests::body::Body;

/// The field with the file.
pub(crate) const FILE: &str = "file";

#[derive(Debug, Clone)]
pub(crate) enum UploadedFile {
    /// The form has no file, or an empty one.
    Absent,
    /// The file is larger than the route allows.
    TooLarge,
    Received(Body),
}
