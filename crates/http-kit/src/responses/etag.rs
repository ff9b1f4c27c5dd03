//! Entity tags (RFC 9110, section 8.8.3): made from the body of a reply, and compared with those
//! that a client sends.
//!
//! A reply that is sent compressed has the tag of the plain body with the content coding at its
//! end, such as `"abc-gzip"` for `"abc"`. A client sends back the tag that it received, so both
//! tags stand for the same state of a record.

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};

/// The content coding of compressed replies, as in `Accept-Encoding` and `Content-Encoding`.
pub const GZIP: &str = "gzip";
/// The beginning of a weak tag.
const WEAK: &str = "W/";
/// The bytes of the digest that a tag shows.
const TAG_BYTES: usize = 16;

/// The strong tag of a plain body: its digest in double quotes.
#[must_use]
pub fn compute(body: &[u8]) -> String {
    let digest = digest(&SHA256, body);
    let mut tag = String::with_capacity(2 * TAG_BYTES + 2);
    tag.push('"');
    HEXLOWER.encode_append(
        digest.as_ref().get(..TAG_BYTES).unwrap_or_default(),
        &mut tag,
    );
    tag.push('"');
    tag
}

/// The weak tag of content that is determined by `origin`, without reading the content.
#[must_use]
pub fn weak(origin: &[u8]) -> String {
    WEAK.to_owned() + &compute(origin)
}

/// The tag of the same content in a content coding such as [`GZIP`].
#[must_use]
pub fn encoded(tag: &str, coding: &str) -> String {
    format!("{}-{coding}\"", tag.strip_suffix('"').unwrap_or(tag))
}

/// How entity tags are compared (section 8.8.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// A weak tag matches no other: it does not promise that the representation is the same to the
    /// byte. For `If-Match`.
    Strong,
    /// A weak tag matches the strong one. For `If-None-Match`.
    Weak,
}

/// The tag in a header such as `If-None-Match` that matches the content with this `tag`: the plain
/// tag or that of the compressed reply. `None` if no tag matches.
#[must_use]
pub fn find(tags: &str, tag: &str, comparison: Comparison) -> Option<String> {
    let (prefix, opaque) = match comparison {
        Comparison::Weak => tag
            .strip_prefix(WEAK)
            .map_or(("", tag), |opaque| (WEAK, opaque)),
        Comparison::Strong => ("", tag),
    };
    let sent = tags.split(',').map(str::trim).map(|sent| match comparison {
        Comparison::Strong => sent,
        Comparison::Weak => sent.trim_start_matches(WEAK),
    });
    let mut matching = sent.filter_map(|sent| match sent {
        // Matches any content.
        "*" => Some(opaque),
        sent => (sent == opaque || sent == encoded(opaque, GZIP)).then_some(sent),
    });
    matching.next().map(|found| prefix.to_owned() + found)
}

/// Whether a tag in a header such as `If-Match` matches the content with this `tag`; see [`find`].
#[must_use]
pub fn is_among(tags: &str, tag: &str, comparison: Comparison) -> bool {
    find(tags, tag, comparison).is_some()
}

/// Whether all tags of a header are in double quotes, as entity tags must be. `*` is allowed too.
#[must_use]
pub fn are_quoted(tags: &str) -> bool {
    let is_quoted = |tag: &str| tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
    tags.split(',')
        .map(str::trim)
        .all(|tag| tag == "*" || is_quoted(tag.trim_start_matches(WEAK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etag_is_the_quoted_first_half_of_the_sha_256() {
        assert_eq!(compute(b"abc"), "\"ba7816bf8f01cfea414140de5dae2223\"");
    }

    #[test]
    fn tag_of_a_compressed_reply_stands_for_the_plain_one() {
        let (tag, other) = (compute(b"one"), compute(b"other"));
        let gzip = encoded(&tag, GZIP);
        assert!(gzip.starts_with('"') && gzip.ends_with("-gzip\""), "{gzip}");
        for (sent, known) in [
            (tag.clone(), &tag),
            (gzip.clone(), &gzip),
            (format!("W/{gzip}"), &gzip),
            (format!("{other}, {gzip}"), &gzip),
            ("*".to_owned(), &tag),
        ] {
            assert_eq!(
                find(&sent, &tag, Comparison::Weak).as_ref(),
                Some(known),
                "{sent}"
            );
            assert_eq!(
                is_among(&sent, &tag, Comparison::Strong),
                !sent.starts_with("W/"),
                "{sent}"
            );
        }
        for sent in [
            other.clone(),
            encoded(&other, GZIP),
            encoded(&tag, "br"),
            gzip.replace('"', ""),
            String::new(),
        ] {
            assert_eq!(find(&sent, &tag, Comparison::Weak), None, "{sent}");
        }
    }
}
