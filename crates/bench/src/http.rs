//! Just enough HTTP/1.1: requests written in advance, and the head of a reply.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::str::FromStr;

use crate::outcome::Outcome;

/// What of a reply's head the benchmark looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Bytes of the head.
    pub(crate) bytes: usize,
    /// Bytes of the body.
    pub(crate) length: usize,
}

impl Head {
    /// The head that the received bytes begin with; `None` while it is not complete.
    pub(crate) fn parse(received: &[u8]) -> Option<Outcome<Self>> {
        const NAME: &[u8] = b"content-length:";
        let bytes = received.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
        let (status, mut length) = (received.get(9..12).and_then(number::<u16>), None);
        for line in received.get(..bytes)?.split(|byte| *byte == b'\n') {
            if line
                .get(..NAME.len())
                .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
            {
                length = line
                    .get(NAME.len()..)
                    .and_then(|value| number::<usize>(value.trim_ascii()));
            }
        }
        Some(match (status, length) {
            (Some(status), Some(length)) => Ok(Self {
                status,
                bytes,
                length,
            }),
            (_, _) => Err(format!(
                "the reply has no Content-Length: {}",
                String::from_utf8_lossy(received)
            )
            .into()),
        })
    }
}

fn number<N: FromStr>(digits: &[u8]) -> Option<N> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A request without a body. `token` is empty where none is sent.
pub(crate) fn get(path: &str, token: &str, headers: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\n{}{headers}\r\n",
        authorization(token)
    )
    .into_bytes()
}

/// A request with a body of JSON.
pub(crate) fn post(path: &str, token: &str, headers: &str, body: &str) -> Vec<u8> {
    with_body("POST", path, token, headers, body)
}

/// A request that changes a record.
pub(crate) fn put(path: &str, token: &str, body: &str) -> Vec<u8> {
    with_body("PUT", path, token, "", body)
}

fn with_body(method: &str, path: &str, token: &str, headers: &str, body: &str) -> Vec<u8> {
    let (authorization, length) = (authorization(token), body.len());
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}{headers}");
    format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn authorization(token: &str) -> String {
    if token.is_empty() {
        String::new()
    } else {
        format!("Authorization: Bearer {token}\r\n")
    }
}

/// A client that waits for each reply, for all that is not measured.
#[derive(Debug)]
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// Sends a request, and gives the status and the body of the reply.
    pub(crate) fn send(&mut self, request: &[u8]) -> Outcome<(u16, Vec<u8>)> {
        let (status, _, body) = self.exchange(request)?;
        Ok((status, body))
    }

    /// Reads what must be there, with the head of the reply, in lower case as far as names go.
    pub(crate) fn read_with_head(&mut self, request: &[u8]) -> Outcome<(String, Vec<u8>)> {
        match self.exchange(request)? {
            (200, head, body) => Ok((String::from_utf8(head)?, body)),
            (status, _, body) => Err(format!("{status} {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    /// Sends a request, and gives the status and the head of the reply.
    pub(crate) fn send_for_head(&mut self, request: &[u8]) -> Outcome<(u16, String)> {
        let (status, head, _) = self.exchange(request)?;
        Ok((status, String::from_utf8(head)?))
    }

    /// The status, the head and the body of the reply.
    fn exchange(&mut self, request: &[u8]) -> Outcome<(u16, Vec<u8>, Vec<u8>)> {
        self.0.write_all(request)?;
        let (mut received, mut buffer) = (Vec::new(), vec![0; 65_536]);
        loop {
            if let Some(head) = Head::parse(&received) {
                let head = head?;
                if received.len() >= head.bytes + head.length {
                    let body = received.split_off(head.bytes);
                    return Ok((head.status, received, body));
                }
            }
            match self.0.read(&mut buffer)? {
                0 => return Err("the server has closed the connection".into()),
                count => received.extend(buffer.iter().take(count)),
            }
        }
    }

    /// Reads what must be there.
    pub(crate) fn read(&mut self, path: &str, token: &str) -> Outcome<Vec<u8>> {
        match self.send(&get(path, token, ""))? {
            (200, body) => Ok(body),
            (status, body) => {
                Err(format!("{path}: {status} {}", String::from_utf8_lossy(&body)).into())
            }
        }
    }
}
