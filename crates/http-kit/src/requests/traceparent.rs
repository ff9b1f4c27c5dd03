//! The caller's `traceparent` (W3C Trace Context), which is logged if it is well-formed.

use actix_web::http::header::{HeaderMap, HeaderName};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The lengths of the version, the trace id, the parent id and the flags.
const LENGTHS: [usize; 4] = [2, 32, 16, 2];
/// The version whose form is known.
const VERSION: &str = "00";

/// The header of a request; `None` if it is absent, repeated or not well-formed.
pub fn well_formed(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(TRACEPARENT);
    let only = sent.next().filter(|_| sent.next().is_none())?;
    only.to_str().ok().filter(|text| is_well_formed(text))
}

/// Whether a text has the form of version 00: four parts in lower-case hexadecimal, and no id is
/// all zeros.
fn is_well_formed(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| {
        part.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let [version, trace_id, parent_id, _] = parts[..] else {
        return false;
    };
    parts.iter().map(|part| part.len()).eq(LENGTHS)
        && parts.iter().all(is_hex)
        && version == VERSION
        && !is_zero(trace_id)
        && !is_zero(parent_id)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn traceparent_of_version_00_is_well_formed() {
        assert!(is_well_formed(VALID));
        assert!(is_well_formed(&VALID.replace("-01", "-fe")));
        for malformed in [
            "",
            "00",
            &VALID.replacen("00", "ff", 1),
            &VALID.replacen("00", "01", 1),
            &VALID.to_uppercase(),
            &format!("{VALID}-more"),
            &format!("{VALID}-"),
            &format!(" {VALID}"),
            &VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &VALID.replace("b7ad6b7169203331", &"0".repeat(16)),
            &VALID.replace("b7ad6b7169203331", "b7ad6b716920333"),
            &VALID.replace("b7ad6b7169203331", "b7ad6b716920333g"),
            "00-Zqxcanary-b7ad6b7169203331-01",
        ] {
            assert!(!is_well_formed(malformed), "{malformed}");
        }
    }

    #[test]
    fn repeated_traceparent_is_not_taken() {
        let header = || (TRACEPARENT, HeaderValue::from_static(VALID));
        let mut headers: HeaderMap = [header()].into_iter().collect();
        assert_eq!(well_formed(&headers), Some(VALID));
        headers.append(TRACEPARENT, header().1);
        assert_eq!(well_formed(&headers), None);
    }
}
