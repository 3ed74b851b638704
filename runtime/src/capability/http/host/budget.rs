//! The HTTP budget of one call: its requests and their bytes. The budget also records reached limits and denials in the
//! log and the audit.
//!
//! The guest, the tasks that send requests and the tasks that read responses all spend from this budget. A reached
//! limit ends the request and not the call: the guest gets a typed error, and the operator one line for each limit.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime_wasi_http::Error;

use super::error_codes;
use crate::call_env::GrantHint;
use crate::capability::PluginCtx;
use crate::capability::host_support::denial_log::DenialLog;
use crate::capability::http::egress::EgressError;
use crate::capability::http::policy::Target;
use crate::config::fixed_limits::HTTP_HEADER_KIB;
use crate::config::{Limits, kib};
use crate::observe::truncate;
use crate::sandbox::{HostFuel, NoSharedPermit};

/// Maximum length of the logged reason why a certificate was rejected, in bytes: a certificate may list any number of
/// hosts.
const MAX_CAUSE: usize = 300;

/// Charged for each request besides its bytes, because it needs a connection and perhaps TLS. In bytes.
const CONNECTION_CHARGE: usize = 500_000;

/// The HTTP budget of one call.
#[derive(Debug)]
pub(super) struct HttpBudget {
    pub(super) plugin: Arc<PluginCtx>,
    host_fuel: HostFuel,
    denials: DenialLog,
    requests: AtomicU64,
    permits: Arc<Semaphore>,
    sent: AtomicU64,
    received: AtomicU64,
}

/// The permit for one simultaneous request; a call has `http_parallel` of them.
pub(super) type RequestPermit = OwnedSemaphorePermit;

impl HttpBudget {
    pub(super) fn new(plugin: Arc<PluginCtx>, host_fuel: HostFuel, denials: DenialLog) -> Self {
        let parallel = usize::try_from(plugin.config.limits.http_parallel).unwrap_or(1);
        Self {
            plugin,
            host_fuel,
            denials,
            requests: AtomicU64::default(),
            permits: Arc::new(Semaphore::new(parallel)),
            sent: AtomicU64::default(),
            received: AtomicU64::default(),
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.plugin.config.limits
    }

    /// Counts a new request and acquires its permit without waiting: the guest that would wait may hold all permits
    /// itself.
    pub(super) fn start_request(&self) -> Result<RequestPermit, Error> {
        self.charge(0)?;
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| self.no_request_permit())?;
        self.count_request()?;
        Ok(permit)
    }

    /// Counts a new request, which acquires its permit later.
    pub(super) fn count_request(&self) -> Result<(), Error> {
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        if before >= self.limits().http_requests {
            return Err(self.limit_reached("http_requests", Error::LoopDetected));
        }
        self.charge(CONNECTION_CHARGE)
    }

    /// Waits for the permit of a request that was counted with [`Self::count_request`].
    pub(super) async fn request_permit(&self, max: Duration) -> Result<RequestPermit, Error> {
        let permit = timeout(max, Arc::clone(&self.permits).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(|| self.no_request_permit())
    }

    fn no_request_permit(&self) -> Error {
        self.limit_reached("http_parallel", Error::ConnectionLimitReached)
    }

    /// Counts bytes of a request's body before they are sent.
    pub(super) fn send(&self, bytes: usize) -> Result<(), Error> {
        let max = kib(self.limits().http_request_kib) as u64;
        self.charge(bytes)?;
        if spend(&self.sent, bytes) <= max {
            return Ok(());
        }
        Err(self.limit_reached("http_request_kib", Error::HttpRequestBodySize(Some(max))))
    }

    /// Counts received bytes of a response's body.
    pub(super) fn receive(&self, bytes: usize) -> Result<(), Error> {
        let max = kib(self.limits().http_response_kib) as u64;
        self.charge(bytes)?;
        if spend(&self.received, bytes) <= max {
            return Ok(());
        }
        Err(self.limit_reached("http_response_kib", Error::HttpResponseBodySize(Some(max))))
    }

    /// Records that a limit was reached, and returns `error` for the guest.
    pub(super) fn limit_reached(&self, limit: &'static str, error: Error) -> Error {
        let value = self.limits().get(limit);
        self.denials
            .record_limit(&self.plugin, &format!("an HTTP request was stopped at {value} (limit `{limit}`)"));
        error
    }

    /// Records that the header fields of a response are too long, and returns `error` for the guest.
    pub(super) fn header_too_long(&self, error: Error) -> Error {
        let why = format!(
            "an HTTP response has header fields of more than {HTTP_HEADER_KIB} KiB (`http_header_kib`)"
        );
        self.denials.record_limit(&self.plugin, &why);
        error
    }

    /// Records that a request was not sent because no shared permit was free. The shared permits are not limits of the
    /// call.
    pub(super) fn no_permit(&self, none: NoSharedPermit) -> Error {
        self.denials.record_limit(&self.plugin, &format!("an HTTP request was not sent: {none}"));
        error_codes::connect_error(&EgressError::Busy(none))
    }

    /// Records that no grant allows a request.
    pub(super) fn deny(&self, target: &Target) {
        let hint = GrantHint::new(target.missing_line(), [format!("http={}", target.missing_grant())]);
        self.denials.record_denied(&self.plugin, &target.pattern(), hint);
    }

    /// Records that a granted name has an address that is neither public nor granted.
    pub(super) fn deny_address(&self, target: &Target, address: IpAddr, what: &str) {
        let requested = format!("{}, which leads to {address} ({what})", target.pattern());
        let (name, at) = (target.pattern(), target.pattern_at(address));
        let line = format!("http = [\"{name}\", \"{at}\"]");
        let grants = [format!("http={name}"), format!("http={at}")];
        self.denials.record_denied(&self.plugin, &requested, GrantHint::new(line, grants));
    }

    /// Records that the certificate of a granted host was rejected.
    pub(super) fn deny_untrusted_host(&self, target: &Target, cause: &io::Error) {
        let redactor = self.plugin.config.grants.config.secrets.redactor();
        let why = truncate(MAX_CAUSE.saturating_add(redactor.longest()), format_args!("{cause}"));
        let why = redactor.prefix(&why, MAX_CAUSE);
        self.denials.record_untrusted_host(&self.plugin, &target.pattern(), &why);
    }

    fn charge(&self, bytes: usize) -> Result<(), Error> {
        let charged = self.host_fuel.charge_now(bytes);
        // When its fuel is used up, the call ends at its next pause, which reports that.
        charged.map_err(|_| Error::InternalError(None))
    }
}

fn spend(counter: &AtomicU64, bytes: usize) -> u64 {
    let bytes = bytes as u64;
    counter.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::tests::plugin;

    fn budget(change: impl FnOnce(&mut Limits)) -> HttpBudget {
        let mut plugin = plugin();
        change(&mut plugin.config.limits);
        HttpBudget::new(Arc::new(plugin), HostFuel::new(2_000_000_000), DenialLog::default())
    }

    #[test]
    fn requests_are_counted_and_permits_come_back() {
        let budget = budget(|limits| (limits.http_requests, limits.http_parallel) = (3, 2));
        let first = budget.start_request().unwrap();
        let _second = budget.start_request().unwrap();
        assert!(matches!(budget.start_request(), Err(Error::ConnectionLimitReached)));
        drop(first);
        let third = budget.start_request().unwrap();
        drop(third);
        assert!(matches!(budget.start_request(), Err(Error::LoopDetected)));
    }

    #[tokio::test]
    async fn a_request_that_may_wait_is_sent_when_another_has_ended() {
        let budget = budget(|limits| (limits.http_requests, limits.http_parallel) = (2, 1));
        budget.count_request().unwrap();
        let first = budget.request_permit(Duration::ZERO).await.unwrap();
        budget.count_request().unwrap();
        assert!(matches!(budget.count_request(), Err(Error::LoopDetected)));
        let none = budget.request_permit(Duration::from_millis(1)).await;
        assert!(matches!(none, Err(Error::ConnectionLimitReached)));
        let end = async { drop(first) };
        let (second, ()) = tokio::join!(budget.request_permit(Duration::from_secs(9)), end);
        drop(second.unwrap());
    }

    #[test]
    fn bytes_are_counted_over_all_requests() {
        let budget = budget(|limits| (limits.http_request_kib, limits.http_response_kib) = (1, 2));
        budget.send(1_000).unwrap();
        assert!(matches!(budget.send(25), Err(Error::HttpRequestBodySize(Some(1_024)))));
        budget.receive(2_048).unwrap();
        assert!(matches!(budget.receive(1), Err(Error::HttpResponseBodySize(Some(2_048)))));
    }

    #[test]
    fn a_server_without_a_free_connection_says_so() {
        let budget = budget(|_| ());
        let error = budget.no_permit(NoSharedPermit::Server { what: "connection" });
        let Error::InternalError(Some(why)) = error else { panic!("{error:?}") };
        assert_eq!(why, "the server has no connection free");
    }

    #[test]
    fn a_request_costs_fuel() {
        let budget = HttpBudget::new(Arc::new(plugin()), HostFuel::new(1_000), DenialLog::default());
        assert!(matches!(budget.start_request(), Err(Error::InternalError(None))));
    }
}
