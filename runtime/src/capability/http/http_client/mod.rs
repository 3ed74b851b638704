//! `plugport:plugin/http-client`: the interface with which the SDKs send requests to hosts.
//!
//! `wasi:http` nests handles in handles. Not every builder can import it, and each SDK would have to map its 39 errors.
//! In `http-client` a request is a value, one handle stands for its response, `wait` waits for several requests, and
//! the ten errors are those that a plugin can act on (`docs/decisions/0039-http-client.md`). For both interfaces,
//! `host` decides what may be sent and what it costs.

mod failure;
mod parsed_request;
mod sent_request;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::timeout;
use wasmtime::StoreContextMut;
use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable, WasmList};

use crate::bindings::http::plugport::plugin::http_client::{
    self as wit, Failure, Host, HostSentRequest, Request, Response,
};
use crate::capability::{InstanceCtx, LimitTrap};
use crate::config::fixed_limits::{HANDLES, HTTP_HEADER_KIB};
use parsed_request::ParsedRequest;
pub use sent_request::SentRequest;

/// The name of the interface.
const INTERFACE: &str = "plugport:plugin/http-client@0.1.0";

/// What checking one request for news is charged, in bytes: about 0.2 µs.
const WAIT_CHARGE: usize = 2_000;

/// What reading one header field is charged besides its text, in bytes: about 0.1 µs.
const FIELD_CHARGE: usize = 1_000;

type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;

/// Links the interface.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    wit::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    linker.allow_shadowing(true);
    let shadowed = shadow(linker);
    linker.allow_shadowing(false);
    shadowed
}

/// Shadows `wait` with a function that charges for the list of requests and bounds its length before it is lifted.
fn shadow(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap_async(
        "wait",
        |mut store: StoreCtx<'_>, (requests, timeout_ms): (WasmList<Resource<SentRequest>>, Option<u32>)| {
            Box::new(async move {
                let host_fuel = store.data_mut().host_fuel.clone();
                host_fuel.charge_work(requests.len().saturating_mul(WAIT_CHARGE), 0).await?;
                // An instance has at most `HANDLES` handles, so a longer list must contain a handle twice.
                if requests.len() as u64 > HANDLES {
                    return Err(LimitTrap("handles").into());
                }
                let requests = lifted(&mut store, &requests)?;
                Ok((store.data_mut().wait(requests, timeout_ms).await?,))
            })
        },
    )
}

/// Lifts a list of the guest.
fn lifted(
    store: &mut StoreCtx<'_>,
    list: &WasmList<Resource<SentRequest>>,
) -> wasmtime::Result<Vec<Resource<SentRequest>>> {
    list.iter(&mut *store)?.collect()
}

impl Host for InstanceCtx {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Resource<SentRequest>, Failure>> {
        let size = parsed_request::size(&request);
        let fields = FIELD_CHARGE.saturating_mul(request.headers.len());
        self.host_fuel.charge_work(size.saturating_add(fields), size).await?;
        let parsed = match ParsedRequest::read(request) {
            Ok(parsed) => parsed,
            Err(failure) => {
                self.record_over_limit(&failure);
                return Ok(Err(failure));
            }
        };
        self.reserve_handle_memory(parsed.size)?;
        Ok(match self.begin_sending(parsed) {
            Ok(sent) => Ok(self.table.push(sent)?),
            Err(failure) => Err(failure),
        })
    }

    async fn wait(
        &mut self,
        requests: Vec<Resource<SentRequest>>,
        timeout_ms: Option<u32>,
    ) -> wasmtime::Result<Vec<u32>> {
        let with_news = poll_fn(|context| poll_all(&mut self.table, &requests, context));
        match timeout_ms {
            None if requests.is_empty() => Ok(Vec::new()),
            None => with_news.await,
            Some(ms) => {
                let in_time = timeout(Duration::from_millis(ms.into()), with_news).await;
                in_time.unwrap_or_else(|_| Ok(Vec::new()))
            }
        }
    }
}

impl HostSentRequest for InstanceCtx {
    async fn write(
        &mut self,
        request: Resource<SentRequest>,
        piece: Vec<u8>,
    ) -> wasmtime::Result<Result<bool, Failure>> {
        self.host_fuel.charge(piece.len()).await?;
        let permit = match self.table.get_mut(&request)?.reserve_piece(piece.len()) {
            Ok(permit) => permit,
            Err(failure) => return Ok(Err(failure)),
        };
        Ok(Ok(permit.send(piece).await))
    }

    async fn finish(&mut self, request: Resource<SentRequest>) -> wasmtime::Result<()> {
        self.host_fuel.charge(0).await?;
        self.table.get_mut(&request)?.finish();
        Ok(())
    }

    async fn response(
        &mut self,
        request: Resource<SentRequest>,
    ) -> wasmtime::Result<Result<Response, Failure>> {
        self.host_fuel.charge(0).await?;
        self.wait_until_ready(&request, SentRequest::poll_response).await?;
        let response = self.table.get_mut(&request)?.response();
        let headers = response.as_ref().map_or(&[][..], |response| response.headers.as_slice());
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.host_fuel.charge_work(FIELD_CHARGE.saturating_mul(headers.len()) + size, size).await?;
        Ok(response)
    }

    async fn read(&mut self, request: Resource<SentRequest>) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        self.host_fuel.charge(0).await?;
        self.wait_until_ready(&request, SentRequest::poll_piece).await?;
        let piece = self.table.get_mut(&request)?.piece();
        self.host_fuel.charge(piece.as_ref().map_or(0, Vec::len)).await?;
        Ok(piece)
    }

    async fn drop(&mut self, request: Resource<SentRequest>) -> wasmtime::Result<()> {
        self.table.delete(request)?;
        Ok(())
    }
}

impl InstanceCtx {
    /// Checks the request and begins to send it.
    fn begin_sending(&mut self, parsed: ParsedRequest) -> Result<SentRequest, Failure> {
        let ParsedRequest { target, request, options, pieces, size } = parsed;
        if let Some(name) = request.headers().keys().find(|name| !self.may_set_header(name)) {
            return Err(failure::header(name.as_str()));
        }
        match self.check_request(request, options) {
            Ok(checked) => Ok(SentRequest::new(target, checked, pieces, size)),
            Err(error) => Err(failure::of(&error, &target)),
        }
    }

    /// Records that a request exceeds a limit before it is checked. Once it is checked, the budget records that.
    fn record_over_limit(&mut self, failure: &Failure) {
        if matches!(failure, Failure::OverLimit(_)) {
            self.limit_reached(&format!(
                "an HTTP request has header fields of more than {HTTP_HEADER_KIB} KiB (`http_header_kib`)"
            ));
        }
    }

    /// Waits until `poll` is ready for this request.
    async fn wait_until_ready(
        &mut self,
        request: &Resource<SentRequest>,
        poll: fn(&mut SentRequest, &mut Context<'_>) -> Poll<()>,
    ) -> wasmtime::Result<()> {
        poll_fn(|context| match self.table.get_mut(request) {
            Ok(request) => poll(request, context).map(Ok),
            Err(error) => Poll::Ready(Err(error.into())),
        })
        .await
    }
}

/// Polls all requests and returns the positions of those with news; not ready while none has news.
fn poll_all(
    table: &mut ResourceTable,
    requests: &[Resource<SentRequest>],
    context: &mut Context<'_>,
) -> Poll<wasmtime::Result<Vec<u32>>> {
    let mut with_news = Vec::new();
    for (position, request) in (0..).zip(requests) {
        let request = match table.get_mut(request) {
            Ok(request) => request,
            Err(error) => return Poll::Ready(Err(error.into())),
        };
        if request.poll_news(context).is_ready() {
            with_news.push(position);
        }
    }
    if with_news.is_empty() { Poll::Pending } else { Poll::Ready(Ok(with_news)) }
}

#[cfg(test)]
mod tests;
