//! The address of a client, also behind reverse proxies that the operator trusts.
//!
//! No other module reads `Forwarded` (RFC 7239), `X-Forwarded-For` and `X-Forwarded-Proto`. These
//! headers count only on connections from a trusted proxy. A forwarded host is never read.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{
    AsHeaderName, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, X_FORWARDED_FOR,
    X_FORWARDED_PROTO,
};
use actix_web::http::uri::Authority;
use ipnet::IpNet;

mod forwarded;

use forwarded::Hop;

/// How clients reach a listener. Stored in the data of the application of the listener.
#[derive(Debug, Clone)]
pub struct ListenerAddress {
    /// Whether the listener speaks TLS.
    pub is_secure: bool,
    /// The address and the port.
    pub host: String,
}

/// The networks of the reverse proxies that are trusted to name the client. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Arc<[IpNet]>);

/// Error: an entry of a list of networks is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an IP address nor a network such as 10.0.0.0/8")]
pub struct InvalidNetwork(String);

impl FromStr for TrustedProxies {
    type Err = InvalidNetwork;

    /// Reads addresses and networks in CIDR notation, separated by commas.
    fn from_str(list: &str) -> Result<Self, InvalidNetwork> {
        let entries = list
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty());
        Ok(Self(entries.map(network).collect::<Result<_, _>>()?))
    }
}

/// The network in CIDR notation, or the network of a single address.
fn network(entry: &str) -> Result<IpNet, InvalidNetwork> {
    if let Ok(network) = entry.parse() {
        return Ok(network);
    }
    let address: IpAddr = entry
        .parse()
        .map_err(|_| InvalidNetwork(entry.to_owned()))?;
    Ok(address.to_canonical().into())
}

impl TrustedProxies {
    /// The address of the client: the one that the connection comes from, and behind trusted
    /// proxies the right-most forwarded address that is not a trusted proxy.
    ///
    /// If a forwarded entry is not an address, the proxy that passed it on counts as the client. If
    /// `Forwarded` and `X-Forwarded-For` name different clients, one of the headers was not written
    /// by the proxy. Then the address of the connection counts.
    #[must_use]
    pub fn client_address(&self, request: &HttpRequest) -> IpAddr {
        self.client_behind(peer_address(request), request.headers())
    }

    /// The scheme and host of the server as the client addressed it, such as
    /// `https://register.example`. The scheme is that of the connection, or the one that a trusted
    /// proxy reports. The host is that of the `Host` header, else that of the listener.
    #[must_use]
    pub fn origin(&self, request: &HttpRequest) -> String {
        let is_secure = self.is_secure(request);
        let host = request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        let listener = request
            .app_data::<ListenerAddress>()
            .map(|listener| &*listener.host);
        let host = host.or(listener).unwrap_or("localhost");
        format!("{}://{host}", if is_secure { "https" } else { "http" })
    }

    /// Whether the client used TLS: to the server itself, or to a trusted proxy that reports it.
    #[must_use]
    pub fn is_secure(&self, request: &HttpRequest) -> bool {
        is_listener_secure(request)
            || (self.contains(peer_address(request)) && is_secure_at_proxy(request.headers()))
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client behind a connection from `peer`. See
    /// [`TrustedProxies::client_address`].
    fn client_behind(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.contains(peer) {
            return peer;
        }
        let client_named_by = |header: HeaderName, read: fn(&str) -> Vec<Hop>| {
            headers
                .contains_key(&header)
                .then(|| self.walk(peer, &hops(headers, header, read)))
        };
        match (
            client_named_by(FORWARDED, forwarded::read),
            client_named_by(X_FORWARDED_FOR, forwarded::read_addresses),
        ) {
            // A proxy wrote one of the headers and passed the other one on unchecked.
            (Some(one), Some(other)) if one != other => peer,
            (Some(client), _) | (None, Some(client)) => client,
            (None, None) => peer,
        }
    }

    /// The first address that is not a trusted proxy, on the way from the peer back to the client.
    /// The way ends at a hop without an address; then the last known address is returned.
    fn walk(&self, peer: IpAddr, hops: &[Hop]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            let Some(address) = hop.address else { break };
            client = address;
            if !self.contains(address) {
                break;
            }
        }
        client
    }
}

/// Whether the request was made on this machine, to a host name of this machine, so that it passed
/// no network. A request with a header of a proxy does not count, whether or not the proxy is
/// trusted.
#[must_use]
pub fn is_local(request: &HttpRequest) -> bool {
    let headers = request.headers();
    let is_forwarded = [FORWARDED, X_FORWARDED_FOR, X_FORWARDED_PROTO]
        .iter()
        .any(|name| headers.contains_key(name));
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .and_then(|host| host.parse::<Authority>().ok());
    let is_host_local = host.is_some_and(|host| {
        let host = host.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    });
    peer_address(request).is_loopback() && is_host_local && !is_forwarded
}

/// Whether the request came over TLS to the server itself.
fn is_listener_secure(request: &HttpRequest) -> bool {
    request
        .app_data::<ListenerAddress>()
        .is_some_and(|listener| listener.is_secure)
}

/// The address that the connection comes from; `::` if it is unknown.
fn peer_address(request: &HttpRequest) -> IpAddr {
    request
        .peer_addr()
        .map_or(Ipv6Addr::UNSPECIFIED.into(), |peer| {
            peer.ip().to_canonical()
        })
}

/// The hops in all lines of a header, that of the nearest proxy last. A line that is not text
/// counts as one hop without an address.
fn hops(headers: &HeaderMap, name: impl AsHeaderName, read: fn(&str) -> Vec<Hop>) -> Vec<Hop> {
    let lines = headers.get_all(name).map(HeaderValue::to_str);
    lines
        .flat_map(|line| line.map_or_else(|_| vec![Hop::default()], read))
        .collect()
}

/// Whether the nearest proxy reports that it was reached over TLS. `Forwarded` counts before
/// `X-Forwarded-Proto`.
fn is_secure_at_proxy(headers: &HeaderMap) -> bool {
    if let Some(nearest) = hops(headers, FORWARDED, forwarded::read).last() {
        return nearest.is_secure;
    }
    let nearest = headers
        .get_all(X_FORWARDED_PROTO)
        .last()
        .and_then(|line| line.to_str().ok());
    nearest
        .and_then(|line| line.rsplit(',').next())
        .is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1";

    /// The client of a connection from `peer`, where 10.0.0.0/8 and 2001:db8:f::/48 are trusted.
    fn client(peer: &str, headers: &[(&'static str, &str)]) -> String {
        let proxies: TrustedProxies = "10.0.0.0/8, 2001:db8:f::/48,192.0.2.7".parse().unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        proxies
            .client_behind(peer.parse().unwrap(), &map)
            .to_string()
    }

    fn via(header: &'static str, value: &str) -> String {
        client(PROXY, &[(header, value)])
    }

    #[test]
    fn forwarded_addresses_are_believed_from_trusted_proxies_alone() {
        let headers = [
            ("forwarded", "for=198.51.100.1"),
            ("x-forwarded-for", "198.51.100.1"),
        ];
        for header in headers {
            assert_eq!(client("203.0.113.9", &[header]), "203.0.113.9");
            assert_eq!(client(PROXY, &[header]), "198.51.100.1");
            assert_eq!(client("192.0.2.7", &[header]), "198.51.100.1");
            assert_eq!(client("192.0.2.8", &[header]), "192.0.2.8");
        }
        assert_eq!(client(PROXY, &[]), PROXY);
        let no_proxies = TrustedProxies::default();
        let map = [(X_FORWARDED_FOR, HeaderValue::from_static("198.51.100.1"))]
            .into_iter()
            .collect();
        assert_eq!(
            no_proxies
                .client_behind(PROXY.parse().unwrap(), &map)
                .to_string(),
            PROXY
        );
    }

    #[test]
    fn client_is_the_rightmost_untrusted_address() {
        for (list, expected) in [
            ("198.51.100.1", "198.51.100.1"),
            ("203.0.113.5, 198.51.100.1", "198.51.100.1"),
            (
                "203.0.113.5, 198.51.100.1, 10.2.3.4,192.0.2.7",
                "198.51.100.1",
            ),
            ("10.9.9.9, 10.2.3.4", "10.9.9.9"),
            ("203.0.113.5, 2001:db8:1::5, 2001:db8:f::1", "2001:db8:1::5"),
            ("::ffff:198.51.100.1", "198.51.100.1"),
            ("::ffff:10.2.3.4, 10.0.0.2", "10.2.3.4"),
            ("198.51.100.1:1234", "198.51.100.1"),
            ("[2001:db8:1::5]:1234", "2001:db8:1::5"),
            (", 198.51.100.1, ,", "198.51.100.1"),
        ] {
            assert_eq!(via("x-forwarded-for", list), expected, "{list}");
        }
        for (list, expected) in [
            ("for=198.51.100.1", "198.51.100.1"),
            ("For=\"198.51.100.1:4711\";proto=https", "198.51.100.1"),
            (
                "proto=http;for=203.0.113.5, for=198.51.100.1;by=10.0.0.3 , for=10.2.3.4",
                "198.51.100.1",
            ),
            ("for=\"[2001:db8:1::5]\"", "2001:db8:1::5"),
            (
                "for=\"[2001:db8:1::5]:_port\";host=\"a,b;for=1.2.3.4\"",
                "2001:db8:1::5",
            ),
            ("for=\"198.51.10\\0.1\"", "198.51.100.1"),
        ] {
            assert_eq!(via("forwarded", list), expected, "{list}");
        }
        let lines = [
            ("x-forwarded-for", "203.0.113.5"),
            ("x-forwarded-for", "198.51.100.1, 10.2.3.4"),
        ];
        assert_eq!(client(PROXY, &lines), "198.51.100.1");
    }

    #[test]
    fn malformed_entry_ends_the_search_at_its_proxy() {
        for (list, expected) in [
            ("unknown", PROXY),
            ("198.51.100.1, unknown", PROXY),
            ("198.51.100.1, localhost, 10.2.3.4", "10.2.3.4"),
            ("198.51.100.1 10.2.3.4", PROXY),
            ("198.51.100.256", PROXY),
            ("198.51.100.1:", PROXY),
            ("198.51.100.1:x", PROXY),
            ("[2001:db8:1::5", PROXY),
            ("[198.51.100.1]", PROXY),
            ("2001:db8:1::5:123456", PROXY),
            ("", PROXY),
        ] {
            assert_eq!(via("x-forwarded-for", list), expected, "{list}");
        }
        for list in [
            "for=unknown",
            "for=_hidden",
            "proto=https",
            "198.51.100.1",
            "for=198.51.100.1:80",
            "for=2001:db8:1::5",
            "for=\"2001:db8:1::5\"",
            "for=\"198.51.100.1",
            "for=198.51.100.1\"",
            "for=\"198.51.100.1\"x",
            "for=\"198.51\".100.\"1\"",
            "for = 198.51.100.1",
            "for=198.51.100.1;for=198.51.100.1",
            "for=198.51.100.1;=x",
            "for=198.51.100.1;host=a b",
            // The client opened a quoted string that swallows what the proxy added.
            "for=\"x, for=198.51.100.1",
            "for=\", for=\"[2001:db8:1::5]\"",
            "for=\"203.0.113.5\\\", for=198.51.100.1",
        ] {
            assert_eq!(via("forwarded", list), PROXY, "{list}");
        }
        let mut map = HeaderMap::new();
        map.append(FORWARDED, HeaderValue::from_bytes(b"for=\xff").unwrap());
        let proxies: TrustedProxies = PROXY.parse().unwrap();
        assert_eq!(
            proxies
                .client_behind(PROXY.parse().unwrap(), &map)
                .to_string(),
            PROXY
        );
    }

    #[test]
    fn two_headers_that_name_different_clients_are_not_believed() {
        let both = |forwarded, list| {
            client(
                PROXY,
                &[("forwarded", forwarded), ("x-forwarded-for", list)],
            )
        };
        assert_eq!(
            both("for=198.51.100.1", "203.0.113.5, 198.51.100.1"),
            "198.51.100.1"
        );
        assert_eq!(both("for=203.0.113.5", "198.51.100.1"), PROXY);
        assert_eq!(both("for=unknown", "198.51.100.1"), PROXY);
    }

    #[test]
    fn a_list_of_proxies_has_addresses_and_networks() {
        assert_eq!("".parse(), Ok(TrustedProxies::default()));
        for list in [
            "10.0.0.0/33",
            "proxy.example",
            "10.0.0.1 10.0.0.2",
            "10.0.0.0/255.0.0.0",
        ] {
            let refused = list.parse::<TrustedProxies>().unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!("{list:?} is neither an IP address nor a network such as 10.0.0.0/8")
            );
        }
        let mapped: TrustedProxies = "::ffff:10.0.0.1".parse().unwrap();
        assert!(mapped.contains(PROXY.parse().unwrap()));
    }
}
