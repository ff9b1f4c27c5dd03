//! Fields: types, codes, the dictionary, and sent values.

pub mod accepted_codes;
pub(crate) mod dictionary;
pub mod field;
pub mod field_set;
pub(crate) mod named_enum;
pub mod parsed;
pub mod value;
pub mod vocabulary;
