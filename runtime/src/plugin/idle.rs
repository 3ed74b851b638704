//! An instance that nobody calls: the price of a fresh one by itself, which benchmarks ask for and no server.
//!
//! It is made by the very functions that make a call's, so that what is measured is what each call pays: its place, its
//! store with all budgets, the instance and its start, and dropping them. What only a call has (the record for the audit, the
//! walls of time, entering the guest) is not there.

use std::sync::Arc;

use super::errand::instantiate;
use super::{CallFailure, Plugin};
use crate::sandbox::Waiting;

impl Plugin {
    /// Makes a fresh instance as a call does, and drops it.
    ///
    /// # Errors
    /// When no place is free, or the instance cannot be made or does not start.
    pub async fn make_idle_instance(&self) -> Result<(), CallFailure> {
        let limits = &self.config().limits;
        let Ok(permit) = self.permits.acquire().await else {
            return Err(CallFailure::Busy { running: limits.concurrent_calls, queued: limits.queued_calls });
        };
        let waiting = Waiting::new(Arc::clone(&self.permits), permit);
        let mut store = self.store(None, &waiting).map_err(|error| CallFailure::not_begun(&error))?;
        let made = instantiate(self, &mut store).await;
        made.map(|_| ()).map_err(|error| CallFailure::classify(&error, store.data(), limits))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Server};
    use crate::observe::Audit;
    use crate::plugin::{Artifact, Loader};
    use crate::sandbox::{Compiler, Store};

    const PLAIN: &str = r#"(component
        (core module $m (func (export "f") (result i32) i32.const 1))
        (core instance $i (instantiate $m))
        (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;

    #[tokio::test]
    async fn an_instance_is_made_for_nobody_with_a_pool_and_without() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("idle.wasm");
        std::fs::write(&file, wat::parse_str(PLAIN).unwrap()).unwrap();
        let server = Server { parked_calls: 0, ..Server::default() };
        for make in [Loader::new, Loader::without_pool] {
            let store = Store::in_memory().unwrap();
            let loader = make(&server, store, Audit::none(), Compiler::here()).unwrap();
            let settings = Config::new(dir.path().to_owned()).plugin("idle");
            let artifact = Artifact::read(&file, settings.limits.wasm_mib).unwrap();
            let plugin = loader.load("idle", artifact, settings).await.unwrap().plugin;
            for _ in 0..3 {
                plugin.make_idle_instance().await.unwrap();
            }
        }
    }
}
