//! Renders Markdown as HTML. Headings and rows get anchors, wide tables scroll, and HTML in the
//! text is dropped.
//!
//! A text can be rendered with the names of one version. Passages about several versions are marked
//! with the comments `<!-- as written -->` and `<!-- end -->` and keep their names. The renderer
//! also collects the blocks for the search index.

use std::borrow::Cow;
use std::collections::BTreeSet;

use http_kit::paths;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
    TextMergeStream,
};
use version_tools::documents::contract::slug;
use version_tools::documents::wording::{Subject, Wording};

mod table;

use table::{RowAnchor, Table};

#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) title: String,
    pub(super) html: String,
    pub(super) sections: Vec<Section>,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Whether the section belongs to the section before.
    pub(super) is_inner: bool,
    pub(super) anchor: String,
    pub(super) title: String,
}

/// For the search index: a heading, a paragraph, a row of a table or a code block, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Empty at the beginning of the page.
    pub(super) anchor: String,
    /// The heading above the block, or the first cell of a row with an anchor.
    pub(super) title: String,
    pub(super) text: String,
}

/// Maps the target of a link in the text to an address; `None` if the page must not link to it.
pub(super) type Links<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Used by the page templates.
const RESERVED: [&str; 3] = ["main", "search", "version"];

/// Of the example programs with generated clients.
const PROGRAM_LANGUAGES: [&str; 2] = ["python", "typescript"];

pub(super) fn render(markdown: &str, wording: Option<&Wording<'_>>, links: Links<'_>) -> Rendered {
    // A line break inside a term must not hide the term.
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| {
        if event == Event::SoftBreak {
            Event::Text(CowStr::Borrowed(" "))
        } else {
            event
        }
    });
    let events: Vec<Event<'_>> = TextMergeStream::new(parser).collect();
    let mut renderer = Renderer::new(wording, links, heading_anchors(&events));
    for (position, event) in events.iter().enumerate() {
        let following = events.get(position + 1..).unwrap_or_default();
        renderer.pass(event, following);
    }
    renderer.finish()
}

fn heading_anchors(events: &[Event<'_>]) -> Vec<String> {
    let mut taken = BTreeSet::from(RESERVED.map(str::to_owned));
    let mut anchors = Vec::new();
    for (position, event) in events.iter().enumerate() {
        if !matches!(event, Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let following = events.get(position + 1..).unwrap_or_default();
        let title = text_until(following, |end| matches!(end, TagEnd::Heading(_)));
        let slug = slug(&title);
        let mut anchor = slug.clone();
        let mut repeated = 0;
        while !taken.insert(anchor.clone()) {
            repeated += 1;
            anchor = format!("{slug}-{repeated}");
        }
        anchors.push(anchor);
    }
    anchors
}

fn text_until(events: &[Event<'_>], is_end: impl Fn(&TagEnd) -> bool) -> String {
    let inner = events
        .iter()
        .take_while(|event| !matches!(event, Event::End(end) if is_end(end)));
    inner
        .filter_map(|event| {
            if let Event::Text(text) | Event::Code(text) = event {
                Some(text.as_ref())
            } else {
                None
            }
        })
        .collect()
}

struct Renderer<'a> {
    /// `None` if names are kept as in the text.
    wording: Option<&'a Wording<'a>>,
    links: Links<'a>,
    written: Vec<Event<'a>>,
    headings: std::vec::IntoIter<String>,
    taken: BTreeSet<String>,
    is_as_written: bool,
    /// Whether the section is left out: the version does not have its subject.
    is_missing_section: bool,
    /// Of the code in the current block.
    subject: Subject,
    is_code_block: bool,
    /// Whether each open link is shown as a link.
    open_links: Vec<bool>,
    table: Option<Table>,
    tables: usize,
    heading: Option<HeadingLevel>,
    /// With canonical names.
    heading_as_written: String,
    title: String,
    section: Section,
    sections: Vec<Section>,
    blocks: Vec<Block>,
    text: String,
}

impl<'a> Renderer<'a> {
    fn new(wording: Option<&'a Wording<'a>>, links: Links<'a>, headings: Vec<String>) -> Self {
        let taken = headings
            .iter()
            .cloned()
            .chain(RESERVED.map(str::to_owned))
            .collect();
        let section = Section {
            is_inner: false,
            anchor: String::new(),
            title: String::new(),
        };
        Self {
            wording,
            links,
            written: Vec::new(),
            headings: headings.into_iter(),
            taken,
            is_as_written: false,
            is_missing_section: false,
            subject: Subject::default(),
            is_code_block: false,
            open_links: Vec::new(),
            table: None,
            tables: 0,
            heading: None,
            heading_as_written: String::new(),
            title: String::new(),
            section,
            sections: Vec::new(),
            blocks: Vec::new(),
            text: String::new(),
        }
    }

    fn finish(self) -> Rendered {
        let mut html = String::new();
        pulldown_cmark::html::push_html(&mut html, self.written.into_iter());
        Rendered {
            title: self.title,
            html,
            sections: self.sections,
            blocks: self.blocks,
        }
    }

    fn write(&mut self, html: impl Into<CowStr<'a>>) {
        self.written.push(Event::Html(html.into()));
    }

    fn words(&self) -> Option<&'a Wording<'a>> {
        self.wording.filter(|_| !self.is_as_written)
    }

    fn rewrite_code<'b>(&self, code: &'b str) -> Cow<'b, str> {
        match self.words() {
            Some(wording) => Cow::Owned(wording.rewrite_code(code, &self.subject)),
            None => Cow::Borrowed(code),
        }
    }

    /// Starts or ends a passage that keeps its names, inside an element.
    fn mark_passage(&mut self, comment: &str, element: &str) {
        match comment.trim() {
            "<!-- as written -->" => {
                self.is_as_written = true;
                self.write(format!("<{element} class=\"as-written\">"));
            }
            "<!-- end -->" => {
                self.is_as_written = false;
                self.write(format!("</{element}>"));
            }
            _ => {}
        }
    }

    fn write_code(&mut self, code: &str) {
        let own = self.rewrite_code(code).into_owned();
        self.text.push_str(&own);
        self.written.push(Event::Code(own.into()));
        let Some(wording) = self.words() else { return };
        if wording.is_name(code) {
            self.subject.field = Some(code.to_owned());
        }
        // A table of fields describes one field in each row.
        let is_first_cell = self.table.as_ref().is_some_and(Table::is_in_first_cell);
        if let Some(note) = wording.find_note(code).filter(|_| is_first_cell) {
            let note = escaped(&note);
            self.write(format!(" <span class=\"tag tag-plain\">{note}</span>"));
        }
    }

    fn pass(&mut self, event: &Event<'_>, following: &[Event<'_>]) {
        if self.is_missing_section && !matches!(event, Event::Start(Tag::Heading { .. })) {
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, following),
            Event::End(end) => self.end(*end),
            Event::Text(text) => {
                let text = match self.words() {
                    Some(wording) if !self.is_code_block => wording.rewrite_prose(text),
                    Some(_) | None => self.rewrite_code(text).into_owned(),
                };
                self.text.push_str(&text);
                self.written.push(Event::Text(text.into()));
            }
            Event::Code(code) => self.write_code(code),
            // HTML in the text is dropped.
            Event::Html(comment) => self.mark_passage(comment, "div"),
            Event::InlineHtml(comment) => self.mark_passage(comment, "span"),
            Event::HardBreak | Event::SoftBreak => {
                self.text.push(' ');
                self.written.push(Event::HardBreak);
            }
            Event::Rule => self.written.push(Event::Rule),
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, following: &[Event<'_>]) {
        match tag {
            Tag::Heading { level, .. } => self.start_heading(*level, following),
            Tag::Link {
                dest_url,
                link_type,
                ..
            } => self.start_link(*link_type, dest_url),
            Tag::CodeBlock(kind) => self.start_code_block(kind),
            Tag::Table(_) => self.start_table(),
            Tag::TableHead => self.write("<thead><tr>"),
            Tag::TableRow => self.start_row(following),
            Tag::TableCell => self.start_cell(following),
            Tag::Paragraph => self.written.push(Event::Start(Tag::Paragraph)),
            Tag::List(first) => {
                self.flush();
                self.written.push(Event::Start(Tag::List(*first)));
            }
            Tag::Item => {
                self.flush();
                self.written.push(Event::Start(Tag::Item));
            }
            Tag::Emphasis => self.written.push(Event::Start(Tag::Emphasis)),
            Tag::Strong => self.written.push(Event::Start(Tag::Strong)),
            Tag::BlockQuote(kind) => self.written.push(Event::Start(Tag::BlockQuote(*kind))),
            Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Image { .. }
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn start_heading(&mut self, level: HeadingLevel, following: &[Event<'_>]) {
        self.flush();
        self.heading = Some(level);
        self.is_missing_section = false;
        let heading = text_until(following, |end| matches!(end, TagEnd::Heading(_)));
        self.subject = Subject::from_heading(&heading);
        self.heading_as_written = heading;
        // The first heading has no anchor; it is the beginning of the page.
        let id = self
            .headings
            .next()
            .map(CowStr::from)
            .filter(|_| level != HeadingLevel::H1);
        self.section.anchor = id.as_deref().unwrap_or_default().to_owned();
        self.written.push(Event::Start(Tag::Heading {
            level,
            id,
            classes: Vec::new(),
            attrs: Vec::new(),
        }));
    }

    fn start_link(&mut self, link_type: LinkType, target: &str) {
        let address = (self.links)(target);
        self.open_links.push(address.is_some());
        if let Some(address) = address {
            self.written.push(Event::Start(Tag::Link {
                link_type,
                dest_url: address.into(),
                title: CowStr::Borrowed(""),
                id: CowStr::Borrowed(""),
            }));
        }
    }

    fn start_code_block(&mut self, kind: &CodeBlockKind<'_>) {
        self.flush();
        if let CodeBlockKind::Fenced(info) = kind {
            let request = info.split_once(" {");
            self.subject.request = request.map(|(_, request)| format!("{{{request}"));
        }
        self.is_code_block = true;
        let is_program = matches!(kind, CodeBlockKind::Fenced(language)
            if PROGRAM_LANGUAGES.contains(&language.as_ref()));
        // A test runs all other code blocks of the guide in a shell.
        self.write(if is_program {
            "<pre class=\"program\"><code>"
        } else {
            "<pre><code>"
        });
    }

    fn start_table(&mut self) {
        self.flush();
        self.tables += 1;
        self.table = Some(Table::default());
        let number = self.tables;
        let about = escaped(&self.section.title);
        // Readers scroll a wide table with the keyboard.
        self.write(format!(
            "<div class=\"scrolls\" tabindex=\"0\" role=\"region\" \
             aria-labelledby=\"table-{number}\"><table class=\"stack\">\
             <caption id=\"table-{number}\">\
             <span class=\"hidden\">{about}, table {number}</span></caption>"
        ));
    }

    fn start_cell(&mut self, following: &[Event<'_>]) {
        let text = text_until(following, |end| matches!(end, TagEnd::TableCell));
        let text = self
            .words()
            .map_or_else(|| text.clone(), |wording| wording.rewrite_prose(&text));
        if let Some(table) = &mut self.table {
            let start = table.start_cell(text.trim());
            self.write(start);
        }
    }

    fn start_row(&mut self, following: &[Event<'_>]) {
        self.flush();
        // The first event starts the first cell.
        let first_content = following
            .iter()
            .skip(1)
            .find(|event| !matches!(event, Event::Start(_)));
        // Pages link to rows about a code, a name or a status code.
        let anchor = match first_content {
            Some(Event::Code(code)) => Some(slug(&self.rewrite_code(code))),
            Some(Event::Text(text))
                if text.len() == 3 && text.bytes().all(|digit| digit.is_ascii_digit()) =>
            {
                Some(paths::status_anchor(text))
            }
            Some(_) | None => None,
        };
        let anchor =
            anchor.filter(|anchor| !anchor.is_empty() && self.taken.insert(anchor.clone()));
        self.write(anchor.as_ref().map_or_else(
            || "<tr>".to_owned(),
            |anchor| format!("<tr id=\"{anchor}\">"),
        ));
        if let Some(table) = &mut self.table {
            table.start_row(anchor);
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(level) => self.end_heading(level),
            TagEnd::Link => {
                if self.open_links.pop() == Some(true) {
                    self.written.push(Event::End(TagEnd::Link));
                }
            }
            TagEnd::CodeBlock => {
                self.is_code_block = false;
                self.subject.request = None;
                self.write("</code></pre>");
                self.flush();
            }
            TagEnd::Table => {
                self.table = None;
                self.write("</tbody></table></div>");
            }
            TagEnd::TableHead => {
                self.text.clear();
                if let Some(table) = &mut self.table {
                    table.end_head();
                }
                self.write("</tr></thead><tbody>");
            }
            TagEnd::TableRow => {
                self.write("</tr>");
                self.end_row();
            }
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    let end = table.end_cell(&self.text);
                    self.text.push_str("  ");
                    self.write(end);
                }
            }
            TagEnd::Paragraph | TagEnd::Item => {
                self.written.push(Event::End(end));
                self.flush();
            }
            TagEnd::List(_) | TagEnd::Emphasis | TagEnd::Strong | TagEnd::BlockQuote(_) => {
                self.written.push(Event::End(end));
            }
            TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Image
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        self.written.push(Event::End(TagEnd::Heading(level)));
        self.heading = None;
        let title = std::mem::take(&mut self.text);
        if level == HeadingLevel::H1 {
            self.title.clone_from(&title);
        }
        self.section = Section {
            is_inner: level > HeadingLevel::H2,
            title,
            ..self.section.clone()
        };
        let Section { anchor, title, .. } = self.section.clone();
        self.blocks.push(Block {
            anchor,
            title,
            text: String::new(),
        });
        if matches!(level, HeadingLevel::H2 | HeadingLevel::H3) {
            self.sections.push(self.section.clone());
        }
        let missing = self
            .wording
            .and_then(|wording| wording.find_missing_subject(&self.heading_as_written));
        // A note says that the version does not have the subject.
        if let Some(missing) = missing {
            self.is_missing_section = !missing.has_counterpart;
            let mut html = String::new();
            pulldown_cmark::html::push_html(&mut html, Parser::new(&missing.note));
            self.write(format!("<div class=\"inset\">{html}</div>"));
        }
    }

    fn end_row(&mut self) {
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let row = self.table.as_mut().and_then(Table::end_row);
        let row = row.unwrap_or_else(|| RowAnchor {
            anchor: self.section.anchor.clone(),
            title: self.section.title.clone(),
        });
        self.blocks.push(Block {
            anchor: row.anchor,
            title: row.title,
            text,
        });
    }

    /// Adds the text since the last block as a block.
    fn flush(&mut self) {
        self.subject.field = None;
        let text = std::mem::take(&mut self.text).trim().to_owned();
        if !text.is_empty() {
            let Section { anchor, title, .. } = self.section.clone();
            self.blocks.push(Block {
                anchor,
                title,
                text,
            });
        }
    }
}

/// Renders sentences without a paragraph around them. HTML in the text is dropped.
pub(super) fn inline_html(markdown: &str) -> String {
    let events = Parser::new(markdown).filter(|event| {
        !matches!(
            event,
            Event::Start(Tag::Paragraph)
                | Event::End(TagEnd::Paragraph)
                | Event::Html(_)
                | Event::InlineHtml(_)
        )
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    html
}

fn escaped(text: &str) -> String {
    let mut html = String::new();
    let event = Event::Text(text.to_owned().into());
    pulldown_cmark::html::push_html(&mut html, std::iter::once(event));
    html
}

#[cfg(test)]
mod tests;
