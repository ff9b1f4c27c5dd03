//! `GET /docs/versions/<name>`: what is written about a version, as a page. The text is that of the generated documents.

use std::sync::{Arc, OnceLock};

use actix_web::http::StatusCode;
use actix_web::web::Path;
use actix_web::{HttpResponse, Resource};
use askama::Template;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::page::{Keep, Place, html, page};
use crate::documents::{self, Document};
use crate::failure::{Failure, Missing};
use crate::mount::read_only;
use crate::register::Register;

#[derive(Template)]
#[template(path = "docs/written.html")]
struct Written {
    place: Place,
    title: String,
    /// Made of a text of ours, which holds nothing that a client sent.
    body: String,
}

/// The resource.
pub(super) fn resource(register: &Register) -> Resource {
    let register = register.clone();
    // Written when the first of them is asked for.
    let written = Arc::new(OnceLock::new());
    read_only("/versions/{name}", move |name: Path<String>| {
        let written = written.get_or_init(|| documents::about_versions(register.versions, register.lists));
        std::future::ready(answer(written, &name))
    })
}

fn answer(written: &[Document], name: &str) -> HttpResponse {
    // The texts refer to one another as files.
    let file = documents::file_about(name.strip_suffix(".md").unwrap_or(name));
    match written.iter().find(|document| document.file == file) {
        Some(document) => shown(&document.text),
        None => Failure::NotFound(Missing::Path).reply_to_anyone().into(),
    }
}

/// A text in Markdown as a page. Its line about where it comes from is for those who read the file.
pub(super) fn shown(markdown: &str) -> HttpResponse {
    let markdown = markdown.replacen(adapter_kit::documents::GENERATED, "", 1);
    let title = markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned();
    let mut body = String::new();
    // A wide table scrolls by itself, and the page does not.
    let events = Parser::new_ext(&markdown, Options::ENABLE_TABLES).flat_map(|event| {
        let (mut before, mut after) = (None, None);
        if matches!(event, Event::Start(Tag::Table(_))) {
            let frame = r#"<div class="scrolls" tabindex="0" role="region" aria-label="Table">"#;
            before = Some(Event::Html(frame.into()));
        } else if event == Event::End(TagEnd::Table) {
            after = Some(Event::Html("</div>".into()));
        }
        before.into_iter().chain([event]).chain(after)
    });
    pulldown_cmark::html::push_html(&mut body, events);
    page(StatusCode::OK, Keep::Fresh, html(&Written { place: Place::Index, title, body }))
}
