//! The tokens of providers: management, expiry, and reasons for refusal.

mod expiry;
mod management;
mod refusal;

pub use self::expiry::EXPIRES_SOON_DAYS;
pub use self::management::{
    MAX_NAME_CHARS, NewToken, Revocation, Rotated, Rotation, TokenRecord, expiry_dates,
};
pub use self::refusal::TokenRefusal;
