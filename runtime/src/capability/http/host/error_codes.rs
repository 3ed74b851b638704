//! Maps errors to the `error-code` of `wasi:http`. The codes reveal nothing about this machine.

use std::error::Error as _;
use std::io;

use tokio_rustls::rustls;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

use super::counted_io::HeadTooLarge;
use crate::capability::http::egress::EgressError;

/// The error of a request whose connection could not be opened.
pub(super) fn connect_error(error: &EgressError) -> Error {
    match error {
        EgressError::NotGranted => Error::HttpRequestDenied,
        EgressError::Prohibited { .. } => Error::DestinationIpProhibited,
        EgressError::Busy(none) => Error::InternalError(Some(none.to_string())),
        EgressError::Name(_) => Error::DnsError { rcode: None, info_code: None },
        EgressError::Connect(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
            io::ErrorKind::TimedOut => Error::ConnectionTimeout,
            _ => Error::DestinationUnavailable,
        },
        EgressError::NoAuthorities => Error::InternalError(Some(error.to_string())),
        EgressError::Tls(error) => {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
            match cause {
                Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
                _ => Error::TlsProtocolError,
            }
        }
    }
}

/// The error of a request that failed before the body of its response began.
pub(super) fn request_error(error: &hyper::Error) -> Error {
    if error.is_parse_too_large() || is_head_too_large(error) {
        Error::HttpResponseHeaderSectionSize(None)
    } else if error.is_incomplete_message() || error.is_canceled() {
        Error::HttpResponseIncomplete
    } else if error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>()) {
        Error::ConnectionTerminated
    } else {
        Error::HttpProtocolError
    }
}

fn is_head_too_large(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.and_then(io::Error::get_ref).is_some_and(|cause| cause.is::<HeadTooLarge>())
}

/// The error of a response whose body broke off.
pub(super) fn body_error(error: &hyper::Error) -> Error {
    if error.is_parse_too_large() {
        Error::HttpResponseTrailerSectionSize(None)
    } else {
        request_error(error)
    }
}

/// The `error-code` for an error of a response's body.
pub(super) fn to_error_code(error: &Error) -> ErrorCode {
    match error {
        Error::HttpResponseBodySize(max) => ErrorCode::HttpResponseBodySize(*max),
        Error::HttpResponseTimeout => ErrorCode::HttpResponseTimeout,
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::HttpResponseTrailerSectionSize(max) => ErrorCode::HttpResponseTrailerSectionSize(*max),
        Error::InternalError(why) => ErrorCode::InternalError(why.clone()),
        _ => ErrorCode::HttpProtocolError,
    }
}
