//! The contract, as it is written, and where its sections are.

use std::collections::HashMap;
use std::sync::LazyLock;

use adapter_kit::Endpoint;

use crate::documents::wording::endpoint_in;

/// The text, in Markdown.
pub const TEXT: &str = include_str!("../../../../docs/api.md");

/// The identifier of the section about an endpoint; that of the section about all endpoints where
/// it has none.
#[must_use]
pub fn section(endpoint: Endpoint) -> &'static str {
    static SECTIONS: LazyLock<(String, HashMap<Endpoint, String>)> = LazyLock::new(|| {
        let headings = || TEXT.lines().filter_map(|line| line.strip_prefix("##"));
        let headings = || headings().map(|heading| heading.trim_start_matches('#').trim());
        let all = headings()
            .find(|heading| heading.ends_with(" Endpoints"))
            .map(slug)
            .unwrap_or_default();
        (
            all,
            headings()
                .filter_map(|heading| Some((endpoint_in(heading)?, slug(heading))))
                .collect(),
        )
    });
    let (all, sections) = &*SECTIONS;
    sections.get(&endpoint).unwrap_or(all)
}

/// The identifier that a heading has in a page.
#[must_use]
pub fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_its_section_of_the_contract() {
        assert_eq!(section(Endpoint::ListTrainees), "42-get-trainees");
        assert_eq!(
            section(Endpoint::UpdateQtsOrEytsStatus),
            "412-post-traineestrainee_idupdate-qts-or-eyts-status"
        );
        assert_eq!(section(Endpoint::ShowUsage), "4-endpoints");
    }
}
