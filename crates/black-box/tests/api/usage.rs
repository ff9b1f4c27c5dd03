//! What providers use, and their readiness for the newest version.

mod counts;
mod readiness;
