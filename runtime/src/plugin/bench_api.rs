//! Makes an instance without calling it, to measure the cost of a fresh one. Only benchmarks use it.
//!
//! The functions are those of a call, so the benchmark measures what each call pays: its permit, its store with all
//! budgets, the instance and its start, and dropping them. The audit record, the limits of time and entering the guest
//! are not measured.

use std::sync::Arc;

use super::guest_call::instantiate;
use super::{CallError, Plugin};
use crate::call_env::Caller;
use crate::sandbox::Suspension;

impl Plugin {
    /// Makes a fresh instance as a call does, and drops it.
    ///
    /// # Errors
    /// When no permit is free, or the instance cannot be made or does not start.
    pub async fn make_instance(&self) -> Result<(), CallError> {
        let limits = &self.config().limits;
        let Ok(permit) = self.permits.acquire().await else {
            return Err(CallError::Busy { running: limits.concurrent_calls, queued: limits.queued_calls() });
        };
        let suspension = Suspension::new(Arc::clone(&self.permits), permit);
        let mut store =
            self.store(None, &Caller::Server, &suspension).map_err(|error| CallError::not_started(&error))?;
        let made = instantiate(self, &mut store).await;
        made.map(|_| ()).map_err(|error| CallError::classify(&error, store.data(), limits))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ServerConfig};
    use crate::observe::Audit;
    use crate::plugin::{ComponentFile, Loader};
    use crate::sandbox::{Compiler, KvDatabase};

    const PLAIN: &str = r#"(component
        (core module $m (func (export "f") (result i32) i32.const 1))
        (core instance $i (instantiate $m))
        (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;

    #[tokio::test]
    async fn an_instance_is_made_for_nobody_with_a_pool_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("idle.wasm");
        std::fs::write(&file, wat::parse_str(PLAIN).unwrap()).unwrap();
        let server = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
        for make in [Loader::new, Loader::without_pooling_allocator] {
            let store = KvDatabase::in_memory().unwrap();
            let loader = make(&server, store, Audit::disabled(), Compiler::in_process()).unwrap();
            let settings = Config::new(dir.path().to_owned()).plugin("idle");
            let file = ComponentFile::read(&file, settings.limits.wasm_mib).unwrap();
            let plugin = loader.load("idle", file, settings).await.unwrap().plugin;
            for _ in 0..3 {
                plugin.make_instance().await.unwrap();
            }
        }
    }
}
