//! The media types that a client accepts.

use actix_web::HttpMessage;
use actix_web::http::header::{Accept, Header as _};

/// Whether the client prefers HTML to other types, as a browser does when it opens a page. A client
/// that sends only `*/*`, as programs do, does not.
#[must_use]
pub fn prefers_html(request: &impl HttpMessage) -> bool {
    let accepted = Accept::parse(request)
        .map(|accept| accept.ranked())
        .unwrap_or_default();
    let first = accepted
        .iter()
        .map(actix_web::mime::Mime::essence_str)
        .find(|media| ["text/html", "application/json", "*/*"].contains(media));
    first == Some("text/html")
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn only_clients_that_rank_html_first_prefer_it() {
        let cases = [
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                true,
            ),
            ("application/xhtml+xml, text/html", true),
            ("application/json, text/html;q=0.5", false),
            ("application/json, text/plain, */*", false),
            ("*/*", false),
            ("nothing", false),
        ];
        for (accept, expected) in cases {
            let request = TestRequest::default().insert_header(("accept", accept));
            assert_eq!(prefers_html(&request.to_request()), expected, "{accept}");
        }
    }
}
