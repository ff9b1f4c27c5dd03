//! Compression of replies with gzip, for clients that accept it.
//!
//! Only gzip: every HTTP client knows it, and other codings save too little to justify another
//! library. The callers decide which replies are compressed.

use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::http::header::{ACCEPT_ENCODING, HeaderMap};
use flate2::read::GzDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};

use crate::responses::etag::GZIP;

/// The smallest body that is compressed, in bytes. Smaller bodies would not arrive noticeably
/// faster.
pub const MIN_BYTES: usize = 1_024;
/// The compression level for a body that one client gets: cheap.
const FAST: u32 = 2;
/// The compression level for a body that is compressed once and sent to many clients.
const THOROUGH: u32 = 7;
/// Base 2 logarithm of the window of DEFLATE (RFC 1951).
const WINDOW_BITS: u8 = 15;
/// Growth of a full buffer for a compressed body, in bytes.
const GROWTH: usize = 16_384;

/// Compresses bodies, and reuses the memory of idle compressors. Cheap to clone; all clones share
/// the compressors. There are as many of them as were ever in use at once.
#[derive(Debug, Clone, Default)]
pub struct Compressor(Arc<Mutex<Vec<Compress>>>);

impl Compressor {
    /// A body compressed with gzip; `None` if that does not make it smaller.
    #[must_use]
    pub fn gzip(&self, body: &[u8]) -> Option<Vec<u8>> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut compress =
            idle.unwrap_or_else(|| Compress::new_gzip(Compression::new(FAST), WINDOW_BITS));
        let compressed = deflate(&mut compress, body);
        compress.reset();
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(compress);
        compressed
    }
}

/// A body for many clients, compressed with gzip; `None` if the body is small or does not become
/// smaller.
#[must_use]
pub fn gzip_thoroughly(body: &[u8]) -> Option<Vec<u8>> {
    if body.len() < MIN_BYTES {
        return None;
    }
    let mut compress = Compress::new_gzip(Compression::new(THOROUGH), WINDOW_BITS);
    deflate(&mut compress, body)
}

/// Decompresses content that was built into the program. Not for bodies of clients: the size of the
/// result has no limit.
///
/// # Errors
///
/// When the bytes are not in gzip format.
pub fn decompress(gzip: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut plain)?;
    plain.shrink_to_fit();
    Ok(plain)
}

/// Compresses a whole body. `None` if compressing fails or does not make the body smaller.
fn deflate(compress: &mut Compress, body: &[u8]) -> Option<Vec<u8>> {
    let mut compressed = Vec::with_capacity(GROWTH);
    loop {
        let read = usize::try_from(compress.total_in()).ok()?;
        let status = compress
            .compress_vec(body.get(read..)?, &mut compressed, FlushCompress::Finish)
            .ok()?;
        match status {
            Status::StreamEnd => break,
            // The buffer is full.
            Status::Ok | Status::BufError if compressed.len() < body.len() => {
                compressed.reserve(GROWTH);
            }
            Status::Ok | Status::BufError => return None,
        }
    }
    compressed.shrink_to_fit();
    (compressed.len() < body.len()).then_some(compressed)
}

/// Whether a client wants replies compressed with gzip (RFC 9110, section 12.5.3): it accepts gzip,
/// and does not prefer replies without compression.
#[must_use]
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut gzip = None;
    let mut any = None;
    let mut identity = None;
    for header in headers
        .get_all(ACCEPT_ENCODING)
        .filter_map(|header| header.to_str().ok())
    {
        for accepted in header.split(',') {
            let (coding, parameters) = accepted.split_once(';').unwrap_or((accepted, ""));
            let weight = Some(weight(parameters));
            match coding.trim().to_ascii_lowercase().as_str() {
                GZIP | "x-gzip" => gzip = weight,
                "*" => any = weight,
                "identity" => identity = weight,
                _ => {}
            }
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// The weight `q` among the parameters of an accepted coding, from 0 to 1. A missing weight counts
/// as 1, a malformed one as 0.
fn weight(parameters: &str) -> f32 {
    let weight = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    match weight.map(str::parse::<f32>) {
        None => 1.0,
        Some(Ok(weight)) if (0.0..=1.0).contains(&weight) => weight,
        Some(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn accepting(value: &'static str) -> HeaderMap {
        [(ACCEPT_ENCODING, HeaderValue::from_static(value))]
            .into_iter()
            .collect()
    }

    #[test]
    fn gzip_is_used_where_the_client_accepts_it() {
        for value in [
            "gzip",
            "GZIP",
            "br, gzip;q=0.5",
            "deflate, x-gzip",
            "*",
            "br;q=1, *;q=0.1",
            "gzip;q=1, identity",
        ] {
            assert!(accepts_gzip(&accepting(value)), "{value}");
        }
        for value in [
            "",
            "br",
            "identity",
            "gzip;q=0",
            "*;q=0, gzip; Q=0.000",
            "*, gzip;q=0",
            "gzip;q=0.5, identity",
            "gzip;q=x",
        ] {
            assert!(!accepts_gzip(&accepting(value)), "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn body_is_the_same_after_compression_and_decompression() {
        let compressor = Compressor::default();
        let json = r#"{"first_names":"Trainee","last_name":"Example"},"#.repeat(10_000);
        for body in [
            json.as_bytes(),
            &json.as_bytes()[..MIN_BYTES],
            &json.as_bytes()[..100_001],
        ] {
            for compressed in [
                compressor.gzip(body).unwrap(),
                gzip_thoroughly(body).unwrap(),
            ] {
                assert!(compressed.len() < body.len() / 4, "{}", compressed.len());
                assert_eq!(decompress(&compressed).unwrap(), body);
            }
        }
        assert_eq!(compressor.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn body_that_does_not_get_smaller_is_left_alone() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let noise: Vec<u8> = (0..100_000).map(|_| random()).collect();
        assert_eq!(Compressor::default().gzip(&noise), None);
        assert_eq!(gzip_thoroughly(&noise), None);
        assert_eq!(gzip_thoroughly(&[b' '; MIN_BYTES - 1]), None);
        assert!(decompress(&noise).is_err());
    }
}
