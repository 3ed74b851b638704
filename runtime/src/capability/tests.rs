//! Host functions called as a hostile guest would, without a guest: what they charge, reject and keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use wasmtime::component::Resource;

use super::*;
use crate::bindings::keyvalue::wasi::keyvalue::{atomics, batch, store};
use crate::bindings::plugport::plugin::request::HostCall as _;
use crate::bindings::plugport::plugin::{inputs, types};
use crate::call_env::{Caller, Client, ClientInfo, ClientRequest, ClientResponses, LogLevel};
use crate::config::{Config, KvGrant, Limits, ServerConfig};
use crate::sandbox::{CallPermits, ChargeError, GuestMemory, Suspension};

/// Longer than any argument should be, and still within `transfer_mib`.
const LONG: usize = 7 << 20;

/// A plugin without any grant.
pub(super) fn plugin() -> PluginCtx {
    let (changes, audience, sampling_budgets) = (Arc::default(), HintAudience::default(), Arc::default());
    let memory = GuestMemory::new(&ServerConfig::default());
    let (store, audit) = (KvDatabase::new("state".into()), Audit::disabled());
    let common = ServerCtx { changes, store, audit, audience, sampling_budgets, memory };
    PluginCtx::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common)
}

/// A client that sent a long `_meta`, and counts how often it is read.
#[derive(Default)]
struct CountingClient {
    meta: usize,
    read: AtomicUsize,
}

impl Client for CountingClient {
    fn caller(&self) -> Caller {
        Caller::Unknown
    }

    fn info(&self) -> ClientInfo {
        ClientInfo { name: "n".repeat(1 << 20), ..ClientInfo::default() }
    }

    fn meta_size(&self) -> usize {
        self.meta
    }

    fn meta(&self) -> Option<String> {
        self.read.fetch_add(1, Ordering::Relaxed);
        Some("m".repeat(self.meta))
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn log(&self, _: LogLevel, _: Option<&str>, _: &RawValue) {}

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn send_requests(&self, _: Vec<ClientRequest>) -> BoxFuture<'_, ClientResponses> {
        std::future::ready(Vec::new()).boxed()
    }
}

/// The state of an instance of this plugin.
pub(super) async fn instance(plugin: PluginCtx) -> InstanceCtx {
    let permits = Arc::new(CallPermits::new(&Limits::default(), Arc::new(Semaphore::new(1))));
    let permit = permits.acquire().await.unwrap();
    InstanceCtx::new(&Arc::new(plugin), &Caller::Unknown, Suspension::new(permits, permit)).unwrap()
}

/// The state of an instance that is granted the store, and the handle of its call.
async fn state(client: Arc<CountingClient>) -> (InstanceCtx, Resource<Call>) {
    let mut plugin = plugin();
    plugin.config.grants.keyvalue = Some(KvGrant { quota_mib: 1, ..KvGrant::default() });
    let mut state = instance(plugin).await;
    let call = state.current_call.begin(Call::new(client));
    (state, call)
}

#[tokio::test]
async fn what_a_guest_does_not_use_is_not_made_and_each_call_begins_without_it() {
    use wasmtime_wasi_http::WasiHttpView as _;

    let (mut state, _call) = state(Arc::default()).await;
    let is_unused = |state: &InstanceCtx| state.capabilities.http.is_none() && state.denials.get().is_none();
    assert!(is_unused(&state) && state.capabilities.is_quiet() && state.logs.get().is_none());
    state.http();
    state.deny("something", "x = true");
    assert!(state.capabilities.http.is_some() && state.denials.get().is_some());
    assert!(state.capabilities.is_quiet(), "no request is under way");
    let suspension = state.suspension.clone();
    state.begin_call(&Caller::Unknown, suspension);
    assert!(is_unused(&state));
}

/// The handle once more, as a guest lends it again.
fn again<T: 'static>(handle: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(handle.rep())
}

#[tokio::test]
async fn what_a_client_sent_is_read_once_and_paid_for_each_time() {
    for size in [10, LONG] {
        let client = Arc::new(CountingClient { meta: size, ..CountingClient::default() });
        let (mut state, call) = state(Arc::clone(&client)).await;
        for _ in 0..5 {
            assert_eq!(state.meta(again(&call)).await.unwrap().unwrap().len(), size);
        }
        assert_eq!(client.read.load(Ordering::Relaxed), 1);
        assert!(state.host_fuel.spent() >= 5 * size as u64 / 2, "{}", state.host_fuel.spent());
    }
}

#[tokio::test]
async fn a_guest_that_asks_for_a_long_meta_again_and_again_runs_out_of_fuel() {
    let (mut state, call) = state(Arc::new(CountingClient { meta: LONG, ..CountingClient::default() })).await;
    let mut reads = 0;
    while state.meta(again(&call)).await.is_ok() {
        reads += 1;
    }
    assert!((500..600).contains(&reads), "{reads}");
}

#[tokio::test]
async fn who_asks_is_told_at_the_price_of_what_is_told() {
    let (mut state, call) = state(Arc::default()).await;
    state.client(call).await.unwrap();
    assert!(state.host_fuel.spent() > 1 << 19, "{}", state.host_fuel.spent());
}

#[tokio::test]
async fn keys_that_are_none_are_paid_for_and_neither_looked_for_nor_kept() {
    use atomics::{Host as _, HostCas as _};
    use batch::Host as _;
    use store::{Host as _, HostBucket as _};

    let (mut state, _call) = state(Arc::default()).await;
    let bucket = state.open(String::new()).await.unwrap().unwrap();
    let (key, entries) = ("k".repeat(LONG), state.table.iter_mut().count());
    let at = || again(&bucket);
    let rejected = [
        state.get(at(), key.clone()).await.unwrap().is_err(),
        state.set(at(), key.clone(), Vec::new()).await.unwrap().is_err(),
        state.delete(at(), key.clone()).await.unwrap().is_err(),
        state.exists(at(), key.clone()).await.unwrap().is_err(),
        state.list_keys(at(), Some(key.clone())).await.unwrap().is_err(),
        state.increment(at(), key.clone(), 1).await.unwrap().is_err(),
        state.get_many(at(), vec!["a".to_owned(), key.clone()]).await.unwrap().is_err(),
        state.set_many(at(), vec![(key.clone(), Vec::new())]).await.unwrap().is_err(),
        state.delete_many(at(), vec![key.clone()]).await.unwrap().is_err(),
        state.new(at(), key.clone()).await.unwrap().is_err(),
    ];
    assert_eq!(rejected, [true; 10]);
    assert_eq!(state.table.iter_mut().count(), entries);
    assert!(state.host_fuel.spent() > 10 * LONG as u64 / 2);
}

#[tokio::test]
async fn a_batch_of_very_many_keys_is_paid_for_and_neither_done_nor_kept() {
    use batch::Host as _;
    use store::Host as _;

    let (mut state, _call) = state(Arc::default()).await;
    let bucket = state.open(String::new()).await.unwrap().unwrap();
    let at = || again(&bucket);
    let keys = |count: usize| vec!["k".to_owned(); count];
    let entries = |count: usize| vec![("k".to_owned(), Vec::new()); count];
    let before = state.host_fuel.spent();
    let results = [
        state.get_many(at(), keys(1_001)).await.unwrap().map(drop),
        state.set_many(at(), entries(1_001)).await.unwrap(),
        state.delete_many(at(), keys(100_000)).await.unwrap(),
    ];
    for result in results {
        let Err(store::Error::Other(why)) = result else { panic!("{result:?}") };
        assert_eq!(why, "a batch has at most 1000 keys; do it in several batches");
    }
    assert!(state.host_fuel.spent() - before > 100_000 * 5_000, "{}", state.host_fuel.spent());
    // The number of keys is allowed, and the length of the last key is not.
    let mut largest = keys(1_000);
    largest[999] = "k".repeat(1_025);
    let Err(store::Error::Other(why)) = state.delete_many(at(), largest).await.unwrap() else { panic!() };
    assert!(why.contains("1024 bytes"), "{why}");
}

#[tokio::test]
async fn what_is_handed_over_is_taken_from_the_memory_of_instances() {
    use store::{Host as _, HostBucket as _};

    let (mut plugin, limits) = (plugin(), Limits::default());
    plugin.config.grants.keyvalue = Some(KvGrant { quota_mib: 1, ..KvGrant::default() });
    let settings = ServerConfig { guest_memory_mib: Some(16), ..ServerConfig::default() };
    plugin.memory = GuestMemory::new(&settings).of_plugin();
    let plugin = Arc::new(plugin);
    let permits = Arc::new(CallPermits::new(&limits, Arc::new(Semaphore::new(2))));
    let mut instances = Vec::new();
    for _ in 0..2 {
        let waiting = Suspension::new(Arc::clone(&permits), permits.acquire().await.unwrap());
        let mut state = InstanceCtx::new(&plugin, &Caller::Unknown, waiting).unwrap();
        let bucket = state.open(String::new()).await.unwrap().unwrap();
        instances.push((state, bucket));
    }
    let [(first, bucket), (second, other)] = &mut instances[..] else { panic!() };
    let (key, long) = ("k".repeat(3 << 20), "k".repeat(2 << 20));
    first.exists(again(bucket), key).await.unwrap().unwrap_err();
    // The plugin may have six MiB.
    let error = second.exists(again(other), long.clone()).await.unwrap_err();
    assert_eq!(error.downcast_ref::<ChargeError>(), Some(&ChargeError::Memory));
    // With another host call, what was handed over before is gone.
    first.open("none".to_owned()).await.unwrap().unwrap_err();
    second.exists(again(other), long).await.unwrap().unwrap_err();
}

#[tokio::test]
async fn too_many_input_requests_are_rejected_before_they_are_read() {
    use inputs::Host as _;

    let (mut state, call) = state(Arc::default()).await;
    let request = |at: usize| inputs::InputRequest { key: at.to_string(), body: inputs::Body::ListRoots };
    let outcome = state.request_inputs(call, (0..100_000).map(request).collect()).await;
    assert!(matches!(outcome, Err(HostCallError::Guest(types::Error::OverBudget(_)))), "{outcome:?}");
    assert!(state.host_fuel.spent() > 1_000_000);
}
