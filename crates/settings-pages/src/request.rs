//! The steps of processing a request for a page.

pub(crate) mod context;
pub(crate) mod cookies;
mod error_texts;
pub(crate) mod form;
pub(crate) mod multipart;
pub(crate) mod page;
pub(crate) mod page_request;
pub(crate) mod permission;
pub(crate) mod receive;
pub(crate) mod uploaded_file;
pub(crate) mod wanted_page;
