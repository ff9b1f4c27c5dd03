//! The trace that a caller names (`traceparent` of W3C Trace Context).

use actix_web::http::header::{HeaderMap, HeaderName};
use data_encoding::HEXLOWER;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Bit 0 of the flags: the caller may have recorded its span.
const SAMPLED: u8 = 1;

/// The span of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    pub(super) is_sampled: bool,
}

impl Parent {
    /// The one that a request names; nothing when it names none, several, or one that is not well formed. What callers say
    /// of the trace beside that (`tracestate`) is not read.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut sent = headers.get_all(TRACEPARENT);
        let only = sent.next().filter(|_| sent.next().is_none())?;
        Self::parse(only.to_str().ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version] = bytes(parts.next()?)?;
        let (trace_id, span_id, [flags]) = (bytes(parts.next()?)?, bytes(parts.next()?)?, bytes(parts.next()?)?);
        // A later version may have more parts; there is no version 255.
        let is_known = if version == 0 { parts.next().is_none() } else { version != u8::MAX };
        let is_valid = is_known && trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }
}

/// Bytes in hexadecimal, in small letters.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn only_a_parent_that_is_well_formed_and_named_once_is_taken() {
        let parent = Parent::parse(VALID).unwrap();
        assert_eq!((parent.trace_id[0], parent.span_id[7], parent.is_sampled), (0x0a, 0x31, true));
        assert!(!Parent::parse(&VALID.replace("-01", "-fe")).unwrap().is_sampled);
        assert_eq!(Parent::parse(&format!("{}-more", VALID.replacen("00", "cc", 1))), Some(parent));
        for invalid in [
            "",
            "00",
            &VALID.replacen("00", "ff", 1),
            &VALID.to_uppercase(),
            &format!("{VALID}-more"),
            &format!("{VALID}-"),
            &VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &VALID.replace("b7ad6b7169203331", &"0".repeat(16)),
            &VALID.replace("b7ad6b7169203331", "b7ad6b716920333"),
            &VALID.replace("b7ad6b7169203331", "b7ad6b716920333g"),
            "00-Zqxcanary-b7ad6b7169203331-01",
        ] {
            assert_eq!(Parent::parse(invalid), None, "{invalid}");
        }
        let header = || (TRACEPARENT, HeaderValue::from_static(VALID));
        let mut headers: HeaderMap = [header()].into_iter().collect();
        assert_eq!(Parent::of(&headers), Some(parent));
        headers.append(TRACEPARENT, header().1);
        assert_eq!(Parent::of(&headers), None);
    }
}
