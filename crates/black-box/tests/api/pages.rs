//! The pages below `/docs`.

mod documentation;
mod documents;
mod moving;
mod searching;

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
