//! The style and the script of all pages, and the addresses of the files that pages load.
//!
//! An address contains a digest of the content. So a browser keeps a file and does not request it
//! again, and a changed file has a new address. The listener of operators once answered such
//! addresses with empty files, which browsers still keep. [`EDITION`] makes the addresses differ
//! from those.

use std::sync::LazyLock;

use actix_web::web::Bytes;

use crate::paths;
use crate::responses::shared_content::SharedContent;

/// The name of the style among the files.
pub const NAME: &str = "style.css";

/// The name of the icon among the files.
pub const ICON_NAME: &str = "favicon.svg";

/// The name of the script among the files.
pub const SCRIPT_NAME: &str = "copy.js";

/// Prefix of the digest in addresses. Changing it makes browsers fetch every file again.
const EDITION: &str = "2-";

/// The style.
pub static CONTENT: LazyLock<SharedContent> =
    LazyLock::new(|| SharedContent::new(Bytes::from_static(include_str!("style.css").as_bytes())));

/// The icon of all pages, as SVG.
pub static ICON: LazyLock<SharedContent> = LazyLock::new(|| {
    SharedContent::new(Bytes::from_static(include_str!("favicon.svg").as_bytes()))
});

/// The script that adds buttons for copying. Pages work without it.
pub static SCRIPT: LazyLock<SharedContent> =
    LazyLock::new(|| SharedContent::new(Bytes::from_static(include_str!("copy.js").as_bytes())));

/// The address of the style, for pages.
#[must_use]
pub fn address() -> String {
    paths::asset(&digest(&CONTENT), NAME)
}

/// The address of the icon, for pages.
#[must_use]
pub fn icon_address() -> String {
    paths::asset(&digest(&ICON), ICON_NAME)
}

/// The address of the script, for pages.
#[must_use]
pub fn script_address() -> String {
    paths::asset(&digest(&SCRIPT), SCRIPT_NAME)
}

/// The digest of content with its prefix, as in addresses.
#[must_use]
pub fn digest(content: &SharedContent) -> String {
    format!("{EDITION}{}", content.entity_tag().trim_matches('"'))
}
