//! The methods of requests.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;

/// The methods that a request is known by; any other is [`OTHER_METHOD`].
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Any method that is not in [`METHODS`]: it may be any text.
pub const OTHER_METHOD: &str = "other";

/// The name of a method, which is one of ours whatever was sent.
#[must_use]
pub fn method_name(method: &HttpMethod) -> &'static str {
    METHODS
        .into_iter()
        .find(|name| *name == method.as_str())
        .unwrap_or(OTHER_METHOD)
}

/// The methods of HTTP for a method of the API.
#[must_use]
pub fn methods(method: Method) -> &'static [HttpMethod] {
    match method {
        Method::Get => &[HttpMethod::GET, HttpMethod::HEAD],
        Method::Post => &[HttpMethod::POST],
        Method::PutOrPatch => &[HttpMethod::PUT, HttpMethod::PATCH],
        Method::Delete => &[HttpMethod::DELETE],
    }
}
