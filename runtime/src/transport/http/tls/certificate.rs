//! What the server reads from a certificate: when it expires, and the name in a client's certificate.
//!
//! rustls verifies a client's certificate first, but keeps neither its name nor its expiry. So the certificate is
//! parsed again here.

use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::access::ClientCertificate;
use crate::config::is_principal_name;

/// Reads a verified client certificate; `None` if it contains no name that can identify a caller.
pub(super) fn read(der: &CertificateDer<'_>) -> Option<ClientCertificate> {
    let certificate = parse(der)?;
    let subject = name(&certificate)?.to_owned();
    Some(ClientCertificate {
        subject,
        sha256: Sha256::digest(der).into(),
        not_after: not_after(&certificate)?,
    })
}

/// When a certificate expires.
pub(super) fn expiry(der: &CertificateDer<'_>) -> Option<SystemTime> {
    not_after(&parse(der)?)
}

fn parse<'d>(der: &'d CertificateDer<'_>) -> Option<X509Certificate<'d>> {
    X509Certificate::from_der(der.as_ref()).ok().map(|(_, certificate)| certificate)
}

fn not_after(certificate: &X509Certificate<'_>) -> Option<SystemTime> {
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Returns the first URI, DNS name or mail address, or else the common name. If that name cannot be used, no other one
/// replaces it: the spelling of the first name must not give a caller another name.
fn name<'c>(certificate: &'c X509Certificate<'_>) -> Option<&'c str> {
    // Two lists of names make the result an error.
    let names = certificate.subject_alternative_name().ok()?;
    let mut names = names.into_iter().flat_map(|names| names.value.general_names.iter());
    let name = match names.find(|name| may_name_caller(name)) {
        Some(GeneralName::URI(name) | GeneralName::DNSName(name) | GeneralName::RFC822Name(name)) => *name,
        Some(_) => return None,
        None => common_name(certificate)?,
    };
    is_principal_name(name).then_some(name)
}

/// Whether a name is of a kind that can identify callers, or malformed, so that its kind is unknown.
fn may_name_caller(name: &GeneralName<'_>) -> bool {
    matches!(
        name,
        GeneralName::URI(_) | GeneralName::DNSName(_) | GeneralName::RFC822Name(_) | GeneralName::Invalid(..)
    )
}

/// Returns the common name if there is exactly one.
fn common_name<'c>(certificate: &'c X509Certificate<'_>) -> Option<&'c str> {
    let mut names = certificate.subject().iter_common_name();
    let name = names.next()?.as_str().ok()?;
    names.next().is_none().then_some(name)
}
