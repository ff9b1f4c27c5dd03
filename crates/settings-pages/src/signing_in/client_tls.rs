//! TLS for requests to the issuer of OpenID Connect.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

#[derive(Debug, thiserror::Error)]
#[error("the system has no root certificates")]
pub struct NoRootCertificates;

pub(crate) fn load_config() -> Result<TlsConfig, NoRootCertificates> {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let (usable, _) =
        RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned());
    if usable == 0 {
        return Err(NoRootCertificates);
    }
    let roots: RootCerts = certificates
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .into();
    let provider = Arc::new(ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(provider)
        .build())
}
