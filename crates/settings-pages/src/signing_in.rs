//! Signing in with a link or at an issuer, and sessions.

pub(crate) mod client_tls;
pub mod openid;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod sign_in_mail;
