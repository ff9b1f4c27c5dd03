//! What a field is: its type, its codes, its entry in the dictionary, and the values that were sent
//! for it.

pub mod accepted_codes;
pub(crate) mod dictionary;
pub mod field;
pub mod field_set;
pub(crate) mod named_enum;
pub mod parsed;
pub mod value;
pub mod vocabulary;
