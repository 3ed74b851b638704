//! Errors of a request as a guest sees them. They say what the guest can act on, and reveal nothing about this machine.
//!
//! A denial names the line of configuration that would allow the request; the guest could derive that line itself. A
//! denial never names the address of a name, because it could be an address in the operator's own network.

use wasmtime_wasi_http::Error;

use crate::bindings::http::plugport::plugin::http_client::{Denial, Failure};
use crate::capability::http::policy::{Target, TargetError};

/// Why a request to this target failed.
pub(super) fn of(error: &Error, target: &Target) -> Failure {
    match error {
        Error::HttpRequestDenied => Failure::Denied(denial(target)),
        Error::DestinationIpProhibited => Failure::PrivateAddress,
        Error::HttpRequestUriInvalid => url(TargetError::Uri),
        Error::HttpRequestMethodInvalid => url(TargetError::Method),
        Error::DnsError { .. } | Error::DnsTimeout | Error::DestinationNotFound => Failure::UnknownHost,
        Error::ConnectionRefused | Error::DestinationUnavailable | Error::DestinationIpUnroutable => {
            Failure::Unreachable
        }
        Error::TlsProtocolError | Error::TlsCertificateError | Error::TlsAlertReceived { .. } => Failure::Tls,
        Error::ConnectionTimeout | Error::ConnectionReadTimeout => Failure::TimedOut,
        Error::HttpResponseTimeout => limit("http_ms"),
        Error::ConnectionLimitReached => limit("http_parallel"),
        Error::LoopDetected => limit("http_requests"),
        Error::HttpRequestBodySize(_) => limit("http_request_kib"),
        Error::HttpResponseBodySize(_) => limit("http_response_kib"),
        Error::HttpResponseHeaderSectionSize(_) => limit("http_header_kib"),
        Error::HttpResponseIncomplete | Error::ConnectionTerminated => {
            Failure::Broken("it broke off".to_owned())
        }
        Error::InternalError(why) => {
            Failure::Unsent(why.clone().unwrap_or_else(|| "the call has used up its fuel".to_owned()))
        }
        other => Failure::Broken(other.to_string()),
    }
}

/// The request reached a limit that the operator set.
pub(super) fn limit(name: &str) -> Failure {
    Failure::OverLimit(name.to_owned())
}

/// The request is invalid; `why` says what is wrong with it.
pub(super) fn invalid(why: &str) -> Failure {
    Failure::Invalid(why.to_owned())
}

/// The request sets a header field that must not be set.
pub(super) fn header(name: &str) -> Failure {
    Failure::Invalid(format!("the header field `{name}` is not one that may be set"))
}

/// The target of the request cannot be determined.
pub(super) fn url(error: TargetError) -> Failure {
    invalid(match error {
        TargetError::Method => "its method is not one that may be sent",
        TargetError::Scheme => "its URL begins with neither `https://` nor `http://`",
        TargetError::Uri => "its URL names no host, or the host is not written in its usual form",
    })
}

fn denial(target: &Target) -> Denial {
    Denial { request: target.pattern(), grant: target.missing_line() }
}
