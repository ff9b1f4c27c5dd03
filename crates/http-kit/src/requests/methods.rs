//! The methods of requests.

use actix_web::http::Method as HttpMethod;
use adapter_kit::Method;

/// The names of methods in the log and in metrics. Any other method counts as [`OTHER_METHOD`].
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The name of all methods that are not in [`METHODS`], because a client can send any text.
pub const OTHER_METHOD: &str = "other";

/// The name of a method: one of [`METHODS`], else [`OTHER_METHOD`].
#[must_use]
pub fn method_name(method: &HttpMethod) -> &'static str {
    METHODS
        .into_iter()
        .find(|name| *name == method.as_str())
        .unwrap_or(OTHER_METHOD)
}

/// The HTTP method that a client usually sends for a method of the API.
#[must_use]
pub const fn usual_method(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::GET,
        Method::Post => HttpMethod::POST,
        Method::PutOrPatch => HttpMethod::PATCH,
        Method::Delete => HttpMethod::DELETE,
    }
}

/// The HTTP methods that stand for a method of the API.
#[must_use]
pub fn methods(method: Method) -> &'static [HttpMethod] {
    match method {
        Method::Get => &[HttpMethod::GET, HttpMethod::HEAD],
        Method::Post => &[HttpMethod::POST],
        Method::PutOrPatch => &[HttpMethod::PUT, HttpMethod::PATCH],
        Method::Delete => &[HttpMethod::DELETE],
    }
}
