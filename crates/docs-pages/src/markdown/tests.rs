//! Rendering with and without the names of a version.

use adapter_kit::{Endpoint, Served};
use domain::TraineeField;
use version_tools::documents::wording::Wording;

use super::*;

fn plain(markdown: &str) -> Rendered {
    render(markdown, None, &|address| {
        (!address.ends_with(".md")).then(|| address.to_owned())
    })
}

/// Returns the oldest version, the canonical name of a field, and the version's own name for it.
fn oldest() -> (&'static Served, &'static str, &'static str) {
    let served = versions::all().iter().next().unwrap();
    let field = TraineeField::course_subject_1;
    (
        served,
        "course_subject_1",
        served.version.inputs.trainee.name_of(field).unwrap(),
    )
}

fn in_oldest(markdown: &str) -> String {
    let (served, ..) = oldest();
    let canonical = versions::all().newest().unwrap();
    let wording = Wording::new(canonical, served, domain::Lists::embedded());
    render(markdown, Some(&wording), &|_| None).html
}

#[test]
fn headings_and_rows_have_unique_anchors() {
    let text = "# Page\n\n## 4.3 GET /a/{b_c}\n\n## Twice\n\n### Twice\n\n| a | |\n|---|---|\n| `main` | 1 |\n| `one` | 2 |\n| `one` | 3 |\n| 404 | 4 |\n";
    let Rendered {
        title,
        html,
        sections,
        blocks,
    } = plain(text);
    assert_eq!(title, "Page");
    let anchors: Vec<&str> = sections
        .iter()
        .map(|section| section.anchor.as_str())
        .collect();
    assert_eq!(anchors, ["43-get-ab_c", "twice", "twice-1"]);
    assert!(sections[2].is_inner && !sections[1].is_inner);
    assert!(
        html.starts_with("<h1>Page</h1>\n<h2 id=\"43-get-ab_c\">"),
        "{html}"
    );
    assert!(
        html.contains("<tr><th scope=\"row\" data-name=\"a\"><code>main</code></th>"),
        "an identifier of the page: {html}"
    );
    assert_eq!(html.matches("<tr id=\"one\">").count(), 1);
    assert!(
        html.contains("<tr id=\"status-404\">")
            && html.contains("<th scope=\"col\">a</th><td></td>"),
        "{html}"
    );
    let row = blocks.iter().find(|block| block.anchor == "one").unwrap();
    assert_eq!((row.title.as_str(), row.text.as_str()), ("one", "one  2"));
}

#[test]
fn html_in_text_is_dropped() {
    let html =
        plain("a <b>c</b> `<i>` & \"d\"\n\n<script>e</script>\n\n[f](g \"h\") [i](j.md) ![k](l)\n")
            .html;
    assert!(
        !html.contains("<b>") && !html.contains("<script") && !html.contains("<img"),
        "{html}"
    );
    assert!(html.contains("<code>&lt;i&gt;</code> &amp;"), "{html}");
    assert!(html.contains("<a href=\"g\">f</a> i"), "{html}");
}

#[test]
fn code_has_names_and_path_of_the_version() {
    let (served, canonical, own) = oldest();
    let label = served.version.label;
    let newest = versions::all().newest().unwrap().version.label;
    assert_ne!(canonical, own);
    let html = in_oldest(&format!(
        "`{canonical}` and `{canonical}0` `/api/{newest}/info`\n\n```sh\n{canonical}\n```\n"
    ));
    assert!(
        html.contains(&format!(
            "<code>{own}</code> and <code>{canonical}0</code> <code>/api/{label}/info</code>"
        )),
        "{html}"
    );
    assert!(
        html.contains(&format!("<pre><code>{own}\n</code></pre>")),
        "{html}"
    );
    // A term with a line break is found.
    assert!(
        in_oldest("A training\npartner is").contains(served.version.vocabulary.training_partner)
    );
}

#[test]
fn passages_about_other_versions_keep_their_names() {
    let (_, canonical, own) = oldest();
    let marked = format!("<!-- as written -->\n\n`{canonical}`\n\n<!-- end -->\n\n`{canonical}`\n");
    let html = in_oldest(&marked);
    let expected = format!(
        "<div class=\"as-written\">\n<p><code>{canonical}</code></p>\n</div>\n<p><code>{own}</code></p>"
    );
    assert!(html.contains(&expected), "{html}");
}

#[test]
fn heading_of_absent_endpoint_says_so() {
    let version = oldest().0.version;
    let mut all = Endpoint::ALL.iter();
    let absent = all
        .find(|endpoint| !version.endpoints.has(**endpoint))
        .unwrap();
    let html = in_oldest(&format!("## 4.1 {absent}\n\nText.\n"));
    let expected = format!(
        " {absent}</h2>\n<div class=\"inset\"><p>{} does not have this endpoint.",
        version.label
    );
    assert!(html.contains(&expected), "{html}");
}
