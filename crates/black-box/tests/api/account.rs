//! What a provider learns of itself.

mod reports;
mod showing;
