//! How much of a server's certificate is checked. All else about TLS is the library's.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Any certificate will do: nobody listens in, but nobody knows who is at the other end.
    Nothing,
    /// It comes from a trusted authority.
    Authority,
    /// And it names the host.
    AuthorityAndName,
}

/// There is nothing to check certificates with.
#[derive(Debug, thiserror::Error)]
#[error("no certificate authority to trust in {from}: {cause}")]
pub struct BadRoots {
    from: String,
    cause: String,
}

/// Makes protected connections. `roots`: a PEM file of trusted authorities; else the system's.
pub(super) fn connector(check: Check, roots: Option<&Path>) -> Result<MakeRustlsConnect, BadRoots> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad("the library", &error))?;
    let config = match check {
        Check::AuthorityAndName => builder.with_root_certificates(read(roots)?).with_no_client_auth(),
        Check::Authority | Check::Nothing => {
            let authority = if check == Check::Nothing { None } else { Some(authority(roots, &provider)?) };
            let lenient = Arc::new(Lenient { provider, authority });
            builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn bad(from: &str, cause: &dyn std::fmt::Display) -> BadRoots {
    BadRoots { from: from.to_owned(), cause: cause.to_string() }
}

fn authority(
    roots: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, BadRoots> {
    WebPkiServerVerifier::builder_with_provider(read(roots)?.into(), Arc::clone(provider))
        .build()
        .map_err(|error| bad("what was given", &error))
}

fn read(roots: Option<&Path>) -> Result<RootCertStore, BadRoots> {
    let Some(path) = roots else { return system() };
    let from = path.display().to_string();
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(&from, &error))?;
    fill(&from, certificates)
}

fn system() -> Result<RootCertStore, BadRoots> {
    fill("the system's store", rustls_native_certs::load_native_certs().certs)
}

fn fill(from: &str, certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, BadRoots> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates);
    if store.is_empty() { Err(bad(from, &"it has none")) } else { Ok(store) }
}

/// Checks less than it could, as `sslmode` says.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, between, name, ocsp, now) {
            // The name is looked at last: all else is well.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
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
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
