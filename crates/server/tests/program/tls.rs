//! The server over TLS.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

use super::support::Workplace;
use super::support::running::{Running, SHORT_LIMITS, ask, header, rest};

const GET: &str = "GET /api/versions HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn certified() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// Puts a certificate and its key in their places.
fn put(workplace: &Workplace, certified: &CertifiedKey<KeyPair>) {
    workplace.write("chain.pem", certified.cert.pem());
    workplace.write("key.pem", certified.signing_key.serialize_pem());
}

fn serve(workplace: &Workplace, certified: &CertifiedKey<KeyPair>, options: &str) -> Running {
    put(workplace, certified);
    let certificate = "--tls-certificate chain.pem --tls-key key.pem";
    let server = Running::start(workplace, &format!("{certificate} {options}"));
    assert!(server.base.starts_with("https://"), "{}", server.base);
    server
}

/// A client that trusts one certificate alone.
struct Trusting {
    trusted: CertificateDer<'static>,
    versions: Vec<&'static SupportedProtocolVersion>,
}

impl Trusting {
    fn new(certified: &CertifiedKey<KeyPair>) -> Self {
        Self {
            trusted: certified.cert.der().clone(),
            versions: vec![&TLS13, &TLS12],
        }
    }

    /// A client of this server's name, which has said nothing yet.
    fn client(&self, server_name: &'static str) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = ["h2", "http/1.1"].map(Vec::from).to_vec();
        ClientConnection::new(Arc::new(config), server_name.try_into().unwrap()).unwrap()
    }

    fn connect(&self, server: &Running) -> StreamOwned<ClientConnection, TcpStream> {
        StreamOwned::new(self.client("localhost"), server.connect())
    }
}

/// A new connection with one answered request.
#[track_caller]
fn require_answer(
    trusting: &Trusting,
    server: &Running,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = trusting.connect(server);
    assert!(ask(&mut stream, GET).starts_with("HTTP/1.1 200 "));
    stream
}

#[test]
fn both_tls_versions_are_served() {
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, "");
    for (version, spoken) in [
        (&TLS12, ProtocolVersion::TLSv1_2),
        (&TLS13, ProtocolVersion::TLSv1_3),
    ] {
        let stream = require_answer(
            &Trusting {
                versions: vec![version],
                ..Trusting::new(&certified)
            },
            &server,
        );
        assert_eq!(stream.conn.protocol_version(), Some(spoken));
        assert_eq!(stream.conn.alpn_protocol(), Some(b"http/1.1".as_slice()));
    }
}

#[test]
fn reply_over_tls_requires_tls_afterwards() {
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, "");
    for path in ["/api/versions", "/docs", "/none"] {
        let mut stream = Trusting::new(&certified).connect(&server);
        let reply = ask(
            &mut stream,
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        );
        assert_eq!(
            header(&reply, "strict-transport-security"),
            Some("max-age=31536000"),
            "{reply}"
        );
        assert_eq!(header(&reply, "server"), None);
    }
    let mut plain = Running::start(&workplace, "");
    plain.signal("HUP");
    plain.wait_for("no TLS certificate to reload");
    let reply = ask(&mut plain.connect(), GET);
    assert_eq!(
        [
            header(&reply, "strict-transport-security"),
            header(&reply, "server")
        ],
        [None, None]
    );
}

#[test]
fn who_speaks_no_tls_is_not_answered() {
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, "");
    let mut stream = server.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut told = Vec::new();
    // Nothing, or an alert of TLS.
    let _ = stream.read_to_end(&mut told);
    assert!(!told.starts_with(b"HTTP"), "{told:?}");
}

#[test]
fn unfinished_handshake_is_dropped() {
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, "--header-timeout 1");
    let mut stream = server.connect();
    stream.write_all(&[22]).unwrap();
    assert_eq!(rest(&mut stream), "");
}

#[test]
fn handshake_contents_are_not_logged() {
    let (workplace, certified) = (Workplace::new(), certified());
    let mut server = serve(&workplace, &certified, "");
    let (name, mut hello) = ("zqxcanary.example", Vec::new());
    Trusting::new(&certified)
        .client(name)
        .write_tls(&mut hello)
        .unwrap();
    let dot = hello
        .windows(name.len())
        .position(|window| window == name.as_bytes())
        .unwrap()
        + "zqxcanary".len();
    // A name with a space is no host name; the TLS library warns about it.
    hello[dot] = b' ';
    let mut stream = server.connect();
    stream.write_all(&hello).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    server.signal("HUP");
    let log = server.log_until("SIGHUP: TLS certificate reloaded");
    assert!(!log.contains("zqxcanary") && !log.contains("WARN"), "{log}");
}

#[test]
fn a_later_head_over_tls_is_dropped() {
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, SHORT_LIMITS);
    let mut stream = require_answer(&Trusting::new(&certified), &server);
    stream.write_all(b"GET /api/versions HTT").unwrap();
    // The end of what is said comes without the farewell of TLS.
    let end = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn certificate_is_reloaded_without_restart() {
    let (workplace, old, new) = (Workplace::new(), certified(), certified());
    let mut server = serve(&workplace, &old, "");
    let mut open = require_answer(&Trusting::new(&old), &server);

    put(&workplace, &new);
    server.signal("HUP");
    server.wait_for("SIGHUP: TLS certificate reloaded");
    require_answer(&Trusting::new(&new), &server);
    let mut refused = Trusting::new(&old).connect(&server);
    assert!(
        refused.write_all(GET.as_bytes()).is_err(),
        "the old certificate is still shown"
    );
    assert!(ask(&mut open, GET).starts_with("HTTP/1.1 200 "));

    // A pair that does not fit, as when the files are changed one after the other.
    workplace.write("chain.pem", old.cert.pem());
    server.signal("HUP");
    server.wait_for("keeping the previous one");
    require_answer(&Trusting::new(&new), &server);
    assert!(ask(&mut open, GET).starts_with("HTTP/1.1 200 "));
}

#[test]
fn tls_client_sending_first_gets_reply() {
    const LENGTH: usize = 18_000_000;
    let (workplace, certified) = (Workplace::new(), certified());
    let server = serve(&workplace, &certified, "");
    let request = format!(
        "POST /docs/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LENGTH}\r\n\r\n{}",
        " ".repeat(LENGTH)
    );
    for _ in 0..3 {
        let mut stream = Trusting::new(&certified).connect(&server);
        let reply = ask(&mut stream, &request);
        assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}
