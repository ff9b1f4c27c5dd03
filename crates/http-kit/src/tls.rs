//! The certificate of the server, read from files, and read again without a restart.
//!
//! Supports TLS 1.2 and 1.3, with the cryptography of *ring*, and only HTTP/1.1 over them: see
//! `docs/architecture.md`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{InconsistentKeys, ServerConfig};

/// Error of reading a certificate. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error(
        "cannot read {}: {source}; check --tls-certificate (REGISTER_TLS_CERTIFICATE), --tls-key (REGISTER_TLS_KEY) \
         and who may read the files",
        .path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file holds no certificate or key in PEM form.
    #[error("{} holds no {what} in PEM form; give a file that does", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What should be there.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        fault: pem::Error,
    },
    /// The key, or the certificate, is of a kind that cannot be used.
    #[error("{}: {source}; give an RSA, ECDSA or Ed25519 key and its certificate", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
    /// The key is not that of the certificate.
    #[error("{} is not the key of {}; use the key that the certificate was requested with", .key.display(), .certificate.display())]
    OtherKey {
        /// The file of the key.
        key: PathBuf,
        /// The file of the certificate.
        certificate: PathBuf,
    },
}

/// A certificate chain and its key, from two files. New connections get those that were read last.
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    /// Reads the chain and the key, both in PEM form.
    ///
    /// # Errors
    ///
    /// Why the files cannot be used.
    pub fn read(chain: &Path, key: &Path) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let current = RwLock::new(Arc::new(certified(chain, key, &provider)?));
        Ok(Arc::new(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            provider,
            current,
        }))
    }

    /// Reads both files again, for new connections. Existing connections go on.
    ///
    /// # Errors
    ///
    /// Why the files cannot be used. Then the previous certificate stays in use.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let fresh = Arc::new(certified(&self.chain, &self.key, &self.provider)?);
        // A poisoned lock does no harm: its value is replaced in one step.
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// The TLS configuration of a server with this certificate.
    ///
    /// # Errors
    ///
    /// When the cryptography does not support the versions of TLS, which would be a defect.
    pub fn config(self: &Arc<Self>) -> Result<ServerConfig, rustls::Error> {
        let config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        Ok(config)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(
            &self.current.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Certificate")
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

/// Reads a certificate chain and its key from files, and checks that they belong together.
fn certified(
    chain: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect)
        .map_err(|fault| fault_in(chain, fault, "certificate"))?;
    if certificates.is_empty() {
        return Err(fault_in(chain, pem::Error::NoItemsFound, "certificate"));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|fault| fault_in(key, fault, "private key"))?;
    let unusable = |path: &Path| {
        let path = path.to_owned();
        |source| TlsError::Unusable { path, source }
    };
    let signing = provider
        .key_provider
        .load_private_key(private)
        .map_err(unusable(key))?;
    let certified = CertifiedKey::new(certificates, signing);
    match certified.keys_match() {
        // Some kinds of keys cannot be compared. They are accepted, because they may match.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(rustls::Error::InconsistentKeys(_)) => Err(TlsError::OtherKey {
            key: key.to_owned(),
            certificate: chain.to_owned(),
        }),
        Err(error) => Err(unusable(chain)(error)),
    }
}

/// The error for a file that cannot be read, or does not hold `what`.
fn fault_in(path: &Path, fault: pem::Error, what: &'static str) -> TlsError {
    let path = path.to_owned();
    if let pem::Error::Io(source) = fault {
        return TlsError::Unreadable { path, source };
    }
    TlsError::Malformed { path, what, fault }
}
