//! An issuer of OpenID Connect that misbehaves as no real one does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use chrono::DateTime;
use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use ring::{digest, hmac};
use serde_json::{Value, json};

use crate::api::support::register::BEGINNING;

pub(crate) const CLIENT: &str = "register";
pub(crate) const SECRET: &str = "a secret of the client";
pub(crate) const EMAIL: &str = "person@example.com";

/// What is wrong with the issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Nothing,
    /// None: it signs with another key, which is among its keys.
    NewKey,
    /// None: it says that each answer has its name.
    NamesItself,
    /// Of the ID token.
    WrongIssuer,
    OtherAudience,
    FurtherAudience,
    OtherNonce,
    NoNonce,
    Expired,
    Unsigned,
    SharedSecret,
    OtherKey,
    UnknownKey,
    OtherClaims,
    NoIdToken,
    NoJson,
    /// Of the reply to the code.
    Refuses,
    Redirects,
    TooLong,
    Slow,
    Closes,
    /// Of what it says of itself.
    OtherName,
    MetadataRedirects,
    MetadataTooLong,
    MetadataIsNone,
    TokensElsewhere,
    KeysElsewhere,
    LoginElsewhere,
    /// Of what it says at another address.
    UserInfoOfOther,
}

impl Fault {
    /// Faults of an issuer that prevent all sign-ins, and faults that make one answer invalid.
    pub(crate) const OF_TOKEN: [Self; 14] = [
        Self::WrongIssuer,
        Self::OtherAudience,
        Self::FurtherAudience,
        Self::OtherNonce,
        Self::NoNonce,
        Self::Expired,
        Self::Unsigned,
        Self::SharedSecret,
        Self::OtherKey,
        Self::UnknownKey,
        Self::OtherClaims,
        Self::NoIdToken,
        Self::Refuses,
        Self::UserInfoOfOther,
    ];
    pub(crate) const OF_TOKEN_REPLY: [Self; 5] = [
        Self::NoJson,
        Self::Redirects,
        Self::TooLong,
        Self::Closes,
        Self::TokensElsewhere,
    ];
    pub(crate) const OF_METADATA: [Self; 6] = [
        Self::OtherName,
        Self::MetadataRedirects,
        Self::MetadataTooLong,
        Self::MetadataIsNone,
        Self::KeysElsewhere,
        Self::LoginElsewhere,
    ];
}

/// An issuer on its own port.
pub(crate) struct FakeIssuer {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    fault: Fault,
    nonce: String,
    /// Whom it names, and what it says of that person.
    subject: String,
    claims: Value,
    /// Whether it says this in the ID token.
    in_id_token: bool,
    /// The heads and bodies of the requests.
    requests: Vec<String>,
    keys: [EcdsaKeyPair; 2],
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap()
}

impl FakeIssuer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared {
            fault: Fault::Nothing,
            nonce: String::new(),
            subject: "subject 1".to_owned(),
            claims: json!({ "email": EMAIL, "email_verified": true }),
            in_id_token: true,
            requests: Vec::new(),
            keys: [key(), key()],
        };
        let shared = Arc::new(Mutex::new(shared));
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&serving);
                thread::spawn(move || answer(&stream.unwrap(), address, &shared));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn name(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, fault: Fault) {
        self.shared.lock().unwrap().fault = fault;
    }

    /// What it puts into the next ID token.
    pub(crate) fn set_nonce(&self, nonce: String) {
        self.shared.lock().unwrap().nonce = nonce;
    }

    /// The person who signs in next.
    pub(crate) fn set_person(&self, subject: &str, claims: Value, in_id_token: bool) {
        let mut shared = self.shared.lock().unwrap();
        subject.clone_into(&mut shared.subject);
        (shared.claims, shared.in_id_token) = (claims, in_id_token);
    }

    /// The requests since this was asked last.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().unwrap().requests)
    }
}

fn answer(stream: &TcpStream, address: SocketAddr, shared: &Mutex<Shared>) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap_or_default();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let (fault, reply) = {
        let mut shared = shared.lock().unwrap();
        shared
            .requests
            .push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
        (shared.fault, reply(&path, address, &shared))
    };
    if path == "/token" && fault == Fault::Slow {
        thread::sleep(Duration::from_secs(20));
    }
    if path == "/token" && fault == Fault::Closes {
        return;
    }
    let is_redirected = matches!(
        (path.as_str(), fault),
        ("/token", Fault::Redirects)
            | (
                "/.well-known/openid-configuration",
                Fault::MetadataRedirects
            )
    );
    let status = if is_redirected {
        // One that a client follows with GET.
        format!("303 See Other\r\nLocation: http://{address}/elsewhere{path}")
    } else if path == "/token" && fault == Fault::Refuses {
        "400 Bad Request".to_owned()
    } else {
        "200 OK".to_owned()
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reply.len()
    );
    // A client that has read enough closes.
    let mut stream = stream;
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(reply.as_bytes()));
}

fn reply(path: &str, address: SocketAddr, shared: &Shared) -> String {
    let (fault, name) = (shared.fault, format!("http://{address}"));
    let long = |fault: Fault, of| {
        if fault == of {
            "x".repeat(1_048_577)
        } else {
            String::new()
        }
    };
    // Where a redirection leads, everything is as it should be.
    let is_elsewhere = path.starts_with("/elsewhere");
    match path.trim_start_matches("/elsewhere") {
        "/.well-known/openid-configuration" if fault == Fault::MetadataIsNone => "[]".to_owned(),
        "/.well-known/openid-configuration" => {
            let elsewhere = |of, path: &str| {
                if fault == of {
                    format!("http://id.example{path}")
                } else {
                    format!("{name}{path}")
                }
            };
            json!({
                "issuer": if fault == Fault::OtherName { "http://127.0.0.1:1" } else { name.as_str() },
                "authorization_endpoint": elsewhere(Fault::LoginElsewhere, "/authorize"),
                "token_endpoint": elsewhere(Fault::TokensElsewhere, "/token"),
                "jwks_uri": elsewhere(Fault::KeysElsewhere, "/keys"),
                "userinfo_endpoint": format!("{name}/me"),
                "response_types_supported": ["code"],
                "authorization_response_iss_parameter_supported": fault == Fault::NamesItself,
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
                "padding": long(fault, Fault::MetadataTooLong),
            })
            .to_string()
        }
        "/keys" => {
            let (key, id) = if fault == Fault::NewKey {
                (&shared.keys[1], "2")
            } else {
                (&shared.keys[0], "1")
            };
            let key = key.public_key().as_ref();
            let [x, y] = [&key[1..33], &key[33..]].map(|part| BASE64URL_NOPAD.encode(part));
            json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "sig", "kid": id, "x": x, "y": y }] }).to_string()
        }
        "/token" if fault == Fault::NoJson => "<html>".to_owned(),
        "/token" if fault == Fault::Refuses => json!({ "error": "invalid_grant" }).to_string(),
        "/token" => {
            let mut reply = json!({ "access_token": "a", "token_type": "Bearer", "padding": long(fault, Fault::TooLong) });
            if fault != Fault::NoIdToken || is_elsewhere {
                reply["id_token"] = json!(id_token(&name, shared));
            }
            reply.to_string()
        }
        "/me" => {
            let mut user = shared.claims.clone();
            user["sub"] = json!(shared.subject);
            if fault == Fault::UserInfoOfOther {
                user["sub"] = json!("another user");
            }
            user.to_string()
        }
        _ => "{}".to_owned(),
    }
}

fn id_token(name: &str, shared: &Shared) -> String {
    let fault = shared.fault;
    let now = DateTime::parse_from_rfc3339(BEGINNING).unwrap().timestamp();
    let mut claims = json!({
        "iss": if fault == Fault::WrongIssuer { "http://127.0.0.1:1" } else { name },
        "sub": shared.subject,
        "aud": CLIENT,
        "iat": now - 600,
        "exp": if fault == Fault::Expired { now - 1 } else { now + 300 },
        "nonce": if fault == Fault::OtherNonce { "another" } else { &shared.nonce },
    });
    if shared.in_id_token {
        let said = shared.claims.as_object().unwrap().clone();
        claims.as_object_mut().unwrap().extend(said);
    }
    let mut header = json!({ "alg": "ES256", "kid": "1" });
    if fault == Fault::OtherAudience {
        claims["aud"] = json!("another");
    }
    if fault == Fault::FurtherAudience {
        claims["aud"] = json!([CLIENT, "another"]);
    }
    let left_out = [(Fault::NoNonce, "nonce"), (Fault::UserInfoOfOther, "email")];
    for (_, field) in left_out.into_iter().filter(|(of, _)| *of == fault) {
        claims.as_object_mut().unwrap().remove(field);
    }
    let headers = [
        (Fault::Unsigned, json!({ "alg": "none" })),
        (Fault::SharedSecret, json!({ "alg": "HS256" })),
        (Fault::UnknownKey, json!({ "alg": "ES256", "kid": "2" })),
        (Fault::NewKey, json!({ "alg": "ES256", "kid": "2" })),
    ];
    for (_, other) in headers.into_iter().filter(|(of, _)| *of == fault) {
        header = other;
    }
    let encode = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let mut signed = format!("{}.{}", encode(&header), encode(&claims));
    let key = &shared.keys
        [usize::from([Fault::OtherKey, Fault::UnknownKey, Fault::NewKey].contains(&fault))];
    let signature = if fault == Fault::Unsigned {
        Vec::new()
    } else if fault == Fault::SharedSecret {
        hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()),
            signed.as_bytes(),
        )
        .as_ref()
        .to_vec()
    } else {
        key.sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap()
            .as_ref()
            .to_vec()
    };
    if fault == Fault::OtherClaims {
        // Others than those that were signed.
        claims["sub"] = json!("subject 2");
        signed = format!("{}.{}", encode(&header), encode(&claims));
    }
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}

/// The challenge that belongs to a verifier (RFC 7636, section 4.2).
pub(crate) fn challenge(verifier: &str) -> String {
    BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()).as_ref())
}
