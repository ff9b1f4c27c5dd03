//! The grammar of `Forwarded` (RFC 7239, section 4) and of `X-Forwarded-For`.
//!
//! Text that does not follow the grammar is read as a hop without an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One step of a request: what a proxy reports about the peer that connected to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hop {
    /// The address that connected; `None` if it is hidden, unknown or malformed.
    pub(super) address: Option<IpAddr>,
    /// Whether the proxy reports that this connection was made over TLS.
    pub(super) is_secure: bool,
}

/// Reads a line of `Forwarded`.
pub(super) fn read(line: &str) -> Vec<Hop> {
    let elements = split_outside_quotes(line, ',');
    elements
        .map(str::trim)
        .filter(|element| !element.is_empty())
        .map(|text| element(text).unwrap_or_default())
        .collect()
}

/// Reads a line of `X-Forwarded-For`. Some proxies write a port behind the address.
pub(super) fn read_addresses(line: &str) -> Vec<Hop> {
    let entries = line
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    let address = |entry: &str| entry.parse().ok().or_else(|| node(entry));
    entries
        .map(|entry| Hop {
            address: address(entry).map(|ip: IpAddr| ip.to_canonical()),
            is_secure: false,
        })
        .collect()
}

/// The parts of a text between separators. Separators in quoted strings do not count. A quote that
/// is not closed reaches to the end of the text.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |char| {
        if is_escaped {
            is_escaped = false;
        } else if is_quoted && char == '\\' {
            is_escaped = true;
        } else if char == '"' {
            is_quoted = !is_quoted;
        }
        !is_quoted && char == separator
    })
}

/// The hop in an element such as `for=192.0.2.1;proto=https`. `None` if the element is malformed or
/// has the same name twice.
fn element(text: &str) -> Option<Hop> {
    let mut hop = Hop::default();
    let mut names = Vec::new();
    for pair in split_outside_quotes(text, ';')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.to_ascii_lowercase(), value_of(value)?);
        if !is_token(&name) || names.contains(&name) {
            return None;
        }
        match name.as_str() {
            "for" => hop.address = node(&value).map(|address| address.to_canonical()),
            "proto" => hop.is_secure = value.eq_ignore_ascii_case("https"),
            _ => {}
        }
        names.push(name);
    }
    Some(hop)
}

/// The value of a pair: a token, or the content of a quoted string. `None` if it is malformed.
fn value_of(text: &str) -> Option<String> {
    let Some(quoted) = text.strip_prefix('"') else {
        return is_token(text).then(|| text.to_owned());
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            // Nothing may follow the closing quote.
            '"' => return chars.as_str().is_empty().then_some(value),
            '\\' => value.push(chars.next()?),
            char => value.push(char),
        }
    }
}

/// Whether the text is a token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The address of a node: IPv4, or IPv6 in brackets, each with or without a port. `None` for a name
/// and for an identifier that hides the address.
fn node(text: &str) -> Option<IpAddr> {
    let (address, rest) = match text.strip_prefix('[') {
        Some(text) => {
            let (address, rest) = text.split_once(']')?;
            (address.parse::<Ipv6Addr>().ok()?.into(), rest)
        }
        None => {
            let (address, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            (address.parse::<Ipv4Addr>().ok()?.into(), rest)
        }
    };
    let is_port = |port: &str| {
        let is_number =
            (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
        // Such as `_a1`, for a port that the proxy hides.
        is_number || (port.starts_with('_') && port.len() > 1 && is_token(port))
    };
    (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)).then_some(address)
}
