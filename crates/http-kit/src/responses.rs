//! How a response is sent: in pieces, compressed, shared between requests, with an entity tag.

pub mod compression;
pub mod etag;
pub mod links;
pub mod page;
pub mod sending;
pub mod shared_content;
pub mod style;
