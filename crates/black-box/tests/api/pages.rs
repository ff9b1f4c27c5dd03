//! The pages below `/docs`.

mod documentation;
mod documents;
