//! Requests that the host sends.

use std::time::Duration;

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions,
    Scheme, http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::{Failure, Request, Response, UrlParts};

/// Bytes that are read and written at once.
const PIECE: usize = 64 << 10;
/// The maximum of one blocking write, bytes.
const WRITE: usize = 4_096;

pub(super) fn send(request: &Request, url: &UrlParts<'_>) -> Result<Response, Failure> {
    let failed = |code| failed(&code, url);
    let outgoing = outgoing(request, url)?;
    let body = match request.body.is_empty() {
        true => None,
        false => Some(outgoing.body().map_err(|()| invalid("its `content-length` is wrong"))?),
    };
    let response = outgoing_handler::handle(outgoing, Some(options(request.patience)?)).map_err(failed)?;
    if let Some(body) = body {
        // A host may respond before it has read the whole body, so a failed write is no error.
        let written = write(&body, &request.body);
        if written {
            let _ = OutgoingBody::finish(body, None);
        }
    }
    response.subscribe().block();
    let received = response.get().and_then(Result::ok);
    let response = received.ok_or_else(|| Failure::Broken("there is none".to_owned()))?.map_err(failed)?;
    read(&response, request.max_body)
        .map_err(|code| code.map_or_else(|| Failure::Broken("it broke off".to_owned()), failed))
}

fn invalid(why: &str) -> Failure {
    Failure::Invalid(why.to_owned())
}

fn outgoing(request: &Request, url: &UrlParts<'_>) -> Result<OutgoingRequest, Failure> {
    let headers = Fields::new();
    let append = |name: &str, value: &str| {
        let appended = headers.append(name, value.as_bytes());
        appended
            .map_err(|_| Failure::Invalid(format!("the header field `{name}` is not one that may be set")))
    };
    for (name, value) in &request.headers {
        append(name, value)?;
    }
    if !request.body.is_empty() && request.field("content-length").is_none() {
        append("content-length", &request.body.len().to_string())?;
    }
    let outgoing = OutgoingRequest::new(headers);
    outgoing.set_method(&method(&request.method)).map_err(|()| invalid("there is no such method"))?;
    let scheme = if url.secure { Scheme::Https } else { Scheme::Http };
    outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("there is no such scheme"))?;
    outgoing.set_authority(Some(url.authority)).map_err(|()| invalid("its host is none"))?;
    outgoing.set_path_with_query(Some(&url.path)).map_err(|()| invalid("its path is none, or too long"))?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn options(patience: Option<Duration>) -> Result<RequestOptions, Failure> {
    let options = RequestOptions::new();
    if let Some(patience) = patience {
        let nanoseconds = u64::try_from(patience.as_nanos()).ok();
        let set = options
            .set_connect_timeout(nanoseconds)
            .and_then(|()| options.set_first_byte_timeout(nanoseconds))
            .and_then(|()| options.set_between_bytes_timeout(nanoseconds));
        set.map_err(|()| invalid("its patience cannot be set"))?;
    }
    Ok(options)
}

/// Whether the host accepted the whole body.
fn write(body: &OutgoingBody, bytes: &[u8]) -> bool {
    let Ok(stream) = body.write() else { return false };
    bytes.chunks(WRITE).all(|piece| stream.blocking_write_and_flush(piece).is_ok())
}

fn read(response: &IncomingResponse, max_body: usize) -> Result<Response, Option<ErrorCode>> {
    let text = |value: Vec<u8>| String::from_utf8(value).ok();
    let headers = response.headers().entries();
    let headers = headers.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect();
    let incoming = response.consume().map_err(|()| None)?;
    let stream = incoming.stream().map_err(|()| None)?;
    let (body, cut) = read_body(&stream, max_body)?;
    // The stream is a part of the body and ends first.
    drop(stream);
    drop::<IncomingBody>(incoming);
    Ok(Response { status: response.status(), headers, body, cut })
}

fn read_body(stream: &InputStream, max_body: usize) -> Result<(Vec<u8>, bool), Option<ErrorCode>> {
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(PIECE as u64) {
            Ok(piece) => {
                let free = max_body - body.len();
                body.extend(piece.iter().take(free));
                if piece.len() > free {
                    return Ok((body, true));
                }
            }
            Err(StreamError::Closed) => return Ok((body, false)),
            Err(StreamError::LastOperationFailed(error)) => return Err(http_error_code(&error)),
        }
    }
}

fn failed(code: &ErrorCode, url: &UrlParts<'_>) -> Failure {
    let scheme = if url.secure { "https" } else { "http" };
    match code {
        ErrorCode::HttpRequestDenied => Failure::Denied(format!("{scheme}://{}", url.authority)),
        ErrorCode::DestinationIpProhibited => Failure::Private,
        ErrorCode::HttpRequestUriInvalid => invalid("its host is none, or not written in its usual form"),
        ErrorCode::HttpRequestMethodInvalid => invalid("its method is not one that may be sent"),
        ErrorCode::DnsError(_) | ErrorCode::DnsTimeout | ErrorCode::DestinationNotFound => Failure::Name,
        ErrorCode::ConnectionRefused
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable => Failure::Unreachable,
        ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError | ErrorCode::TlsAlertReceived(_) => {
            Failure::Tls
        }
        ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout => Failure::TimedOut,
        ErrorCode::HttpResponseTimeout => Failure::Limit("http_ms"),
        ErrorCode::ConnectionLimitReached => Failure::Limit("http_parallel"),
        ErrorCode::LoopDetected => Failure::Limit("http_requests"),
        ErrorCode::HttpRequestBodySize(_) => Failure::Limit("http_request_kib"),
        ErrorCode::HttpResponseBodySize(_) => Failure::Limit("http_response_kib"),
        ErrorCode::HttpResponseHeaderSectionSize(_) => Failure::Limit("http_header_kib"),
        ErrorCode::HttpResponseIncomplete | ErrorCode::ConnectionTerminated => {
            Failure::Broken("it broke off".to_owned())
        }
        ErrorCode::InternalError(Some(why)) => Failure::Unsent(why.clone()),
        other => Failure::Broken(other.to_string()),
    }
}
