//! The pages below `/docs`.

use versions::SERVED;

use super::settings::browser::{FORM, encode};
use super::support::{Page, Register};

mod documentation;
mod documents;
mod moving;
mod searching;

/// Opens a page.
fn get(register: &Register, path: &str) -> Page {
    register.request("GET", path).page()
}

/// Searches for a text.
fn search(register: &Register, version: &str, query: &str) -> Page {
    let query = encode(&[("version", version), ("q", query)]);
    get(register, &format!("/docs/search?{query}")).is(200)
}

/// The page about the move from the oldest version to the newest.
fn longest_move() -> String {
    let newest = SERVED.last().unwrap();
    format!("/docs/move/{}/{}", SERVED[0].label, newest.label)
}

/// Sends the form of the page about the move from the oldest version to the newest.
fn convert(register: &Register, fields: &[(&str, &str)]) -> Page {
    let request = register.request("POST", &longest_move());
    request
        .bytes(encode(fields))
        .header("Content-Type", FORM)
        .page()
}

/// Returns the text of a page without its tags.
fn plain_text(page: &str) -> String {
    let parts = page.split('<').enumerate();
    let text: String = parts
        .filter_map(|(at, part)| {
            if at == 0 {
                Some(part)
            } else {
                part.split_once('>').map(|(_, text)| text)
            }
        })
        .collect();
    text.replace("&quot;", "\"")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&#38;", "&")
}
