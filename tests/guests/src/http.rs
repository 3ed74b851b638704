//! HTTP without the SDK, for guests that send requests that the SDK would not.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingRequest, RequestOptions,
    Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

/// A request with these unchanged parts. The error names the part that the host rejects.
pub fn request(method: &str, scheme: Scheme, authority: &str, path: &str) -> Result<OutgoingRequest, String> {
    let request = OutgoingRequest::new(Fields::new());
    request.set_method(&Method::Other(method.to_owned())).map_err(|()| "method refused".to_owned())?;
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme refused".to_owned())?;
    request.set_authority(Some(authority)).map_err(|()| "authority refused".to_owned())?;
    request.set_path_with_query(Some(path)).map_err(|()| "path refused".to_owned())?;
    Ok(request)
}

/// Begins to send it.
pub fn begin(
    request: OutgoingRequest,
    options: Option<RequestOptions>,
) -> Result<FutureIncomingResponse, String> {
    outgoing_handler::handle(request, options).map_err(code)
}

/// Waits for the response.
pub fn wait(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    future.get().expect("it is ready").expect("it was not taken").map_err(code)
}

/// Sends a `GET` request and waits for the response.
pub fn get(scheme: Scheme, authority: &str, path: &str) -> Result<IncomingResponse, String> {
    wait(&begin(request("GET", scheme, authority, path)?, None)?)
}

/// Reads a body to its end: how many bytes came, and how it ended.
pub fn drain(response: &IncomingResponse) -> (u64, String) {
    let body = response.consume().expect("it was not taken");
    let stream = body.stream().expect("it was not taken");
    let mut read = 0;
    loop {
        match stream.blocking_read(1 << 20) {
            Ok(piece) => read += piece.len() as u64,
            Err(StreamError::Closed) => return (read, "end".to_owned()),
            Err(StreamError::LastOperationFailed(error)) => {
                return (read, http_error_code(&error).map_or("no code".to_owned(), code));
            }
        }
    }
}

/// The name of a code.
pub fn code(code: ErrorCode) -> String {
    let text = format!("{code:?}");
    text.trim_start_matches("ErrorCode::").to_owned()
}
