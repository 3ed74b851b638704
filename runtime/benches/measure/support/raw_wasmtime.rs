//! The lower bound: wasmtime with the server's engine settings, and only the imports of the guest.

use std::path::Path;

use plugport::config::ServerConfig;
use plugport::sandbox::engine;
use wasmtime::Store;
use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::ARGS;
use super::in_process::BenchFn;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "tool-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        with: { "plugport:plugin/request.call": super::Call },
    });
}

use bindings::plugport::plugin::{changes, elicitation, inputs, request, roots, sampling, types};

pub struct Call;

pub struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

pub struct RawInstance {
    pre: bindings::ToolPluginPre<State>,
}

impl RawInstance {
    pub async fn new(guest: &Path) -> Self {
        let engine = engine(&ServerConfig { suspended_calls: 0, ..ServerConfig::default() }).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        bindings::ToolPlugin::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        let component = Component::from_file(&engine, guest).unwrap();
        Self { pre: bindings::ToolPluginPre::new(linker.instantiate_pre(&component).unwrap()).unwrap() }
    }
}

impl BenchFn for RawInstance {
    async fn once(&mut self) {
        let state = State { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
        let mut store = Store::new(self.pre.engine(), state);
        store.set_fuel(u64::MAX).unwrap();
        // The epoch never advances here.
        store.set_epoch_deadline(1);
        let plugin = self.pre.instantiate_async(&mut store).await.unwrap();
        let call = store.data_mut().table.push(Call).unwrap();
        let tools = plugin.plugport_plugin_tools();
        tools.call_call_tool(&mut store, call, "echo", ARGS).await.unwrap().unwrap();
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl types::Host for State {}
impl request::Host for State {}

impl request::HostCall for State {
    async fn client(&mut self, _: Resource<Call>) -> wasmtime::Result<request::ClientInfo> {
        wasmtime::bail!("unused")
    }
    async fn principal(&mut self, _: Resource<Call>) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
    async fn meta(&mut self, _: Resource<Call>) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
    async fn cancelled(&mut self, _: Resource<Call>) -> wasmtime::Result<bool> {
        Ok(false)
    }
    async fn log(
        &mut self,
        _: Resource<Call>,
        _: request::LogLevel,
        _: Option<String>,
        _: String,
    ) -> wasmtime::Result<()> {
        Ok(())
    }
    async fn progress(
        &mut self,
        _: Resource<Call>,
        _: f64,
        _: Option<f64>,
        _: Option<String>,
    ) -> wasmtime::Result<()> {
        Ok(())
    }
    async fn drop(&mut self, call: Resource<Call>) -> wasmtime::Result<()> {
        self.table.delete(call)?;
        Ok(())
    }
}

type HostResult<T> = wasmtime::Result<Result<T, types::Error>>;

fn unused<T>() -> HostResult<T> {
    Ok(Err(types::Error::Denied(String::new())))
}

impl sampling::Host for State {
    async fn create_message(
        &mut self,
        _: Resource<Call>,
        _: Option<String>,
        _: String,
    ) -> HostResult<String> {
        unused()
    }
}

impl elicitation::Host for State {
    async fn elicit(&mut self, _: Resource<Call>, _: Option<String>, _: String) -> HostResult<String> {
        unused()
    }
}

impl roots::Host for State {
    async fn list_roots(&mut self, _: Resource<Call>, _: Option<String>) -> HostResult<Vec<roots::Root>> {
        unused()
    }
}

impl inputs::Host for State {
    async fn request_inputs(
        &mut self,
        _: Resource<Call>,
        _: Vec<inputs::InputRequest>,
    ) -> HostResult<Vec<inputs::InputResponse>> {
        unused()
    }
}

impl changes::Host for State {
    async fn list_changed(&mut self, _: changes::Listing) -> wasmtime::Result<()> {
        Ok(())
    }
    async fn resource_updated(&mut self, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
}
