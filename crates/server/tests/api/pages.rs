//! The pages below `/docs`.

mod documentation;
