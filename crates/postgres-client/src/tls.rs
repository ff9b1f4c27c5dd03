//! TLS to PostgreSQL with rustls: applies `sslmode` and the certificate files of an address.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How the server's certificate is verified, by `sslmode` as libpq defines it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Verification {
    /// No TLS.
    Disable,
    /// TLS if the server supports it, without verification.
    #[default]
    Prefer,
    /// TLS, without verification unless the address names a root certificate.
    Require,
    /// TLS, with a certificate of a known authority for any name.
    Authority,
    /// TLS, with a certificate of a known authority for the name of the host.
    Full,
}

impl Verification {
    /// Whether TLS is negotiated.
    pub(crate) fn negotiation(self) -> SslMode {
        match self {
            Self::Disable => SslMode::Disable,
            Self::Prefer => SslMode::Prefer,
            Self::Require | Self::Authority | Self::Full => SslMode::Require,
        }
    }
}

impl FromStr for Verification {
    type Err = ();

    fn from_str(mode: &str) -> Result<Self, ()> {
        Ok(match mode {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::Authority,
            "verify-full" => Self::Full,
            _ => return Err(()),
        })
    }
}

/// The files that an address names, in PEM form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    /// The certificates of the authorities; `system` (the default) for those of the operating
    /// system.
    pub(crate) root: Option<String>,
    /// The client certificate, with its chain.
    pub(crate) certificate: Option<String>,
    /// The private key of the client certificate.
    pub(crate) key: Option<String>,
}

/// Returns the factory of TLS connections.
///
/// # Errors
///
/// Names the parameter with an unusable file, and the cause.
pub(crate) fn connector(
    verification: Verification,
    files: &Files,
) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    // libpq also verifies the authority for `require` with a root certificate.
    let verification = if verification == Verification::Require && files.root.is_some() {
        Verification::Authority
    } else {
        verification
    };
    let lenient = |authority| {
        Arc::new(LenientVerifier {
            authority,
            provider: Arc::clone(&provider),
        })
    };
    let verifier: Arc<dyn ServerCertVerifier> = match verification {
        Verification::Disable | Verification::Prefer | Verification::Require => lenient(None),
        Verification::Authority => lenient(Some(verifier(&provider, files)?)),
        Verification::Full => verifier(&provider, files)?,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match (&files.certificate, &files.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain = certificates("sslcert", certificate)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| format!("sslkey {key}: {error}"))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("sslcert {certificate}: {error}"))?
        }
        (Some(_), None) => return Err("sslcert needs sslkey".to_owned()),
        (None, Some(_)) => return Err("sslkey needs sslcert".to_owned()),
    };
    Ok(MakeRustlsConnect::new(config))
}

/// Reads the certificates of a file. `Err` names the parameter and the file.
fn certificates(parameter: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let read = read.map_err(|error| format!("{parameter} {path}: {error}"))?;
    if read.is_empty() {
        Err(format!("{parameter} {path} holds no certificate"))
    } else {
        Ok(read)
    }
}

/// A verifier of the authority and the name, with the root certificates of `files`.
fn verifier(
    provider: &Arc<CryptoProvider>,
    files: &Files,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = RootCertStore::empty();
    match files.root.as_deref() {
        None | Some("system") => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("the operating system has no root certificates; \
                            name a file with root certificates in sslrootcert"
                    .to_owned());
            }
        }
        Some(path) => {
            for certificate in certificates("sslrootcert", path)? {
                roots
                    .add(certificate)
                    .map_err(|error| format!("sslrootcert {path}: {error}"))?;
            }
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())
}

/// Verifies less than `verify-full`: the authority but not the name, or nothing.
struct LenientVerifier {
    /// Verifies the authority. `None` accepts any certificate, for `prefer` and `require`: these
    /// protect against eavesdropping, but not against a server in the middle.
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for LenientVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LenientVerifier")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        // rustls verifies the name last, so this error means that all other checks passed.
        match authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
