//! Waits while another process compiles the same file, so that servers that start together compile each file only once.
//!
//! The lock is a file in the code cache; the system releases it when its process ends. The lock is advisory: a process
//! that has waited too long, or cannot lock, compiles the file itself. Both processes then store the same code.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::Compiler;
use super::cache::{CompileLock, Key};
use crate::config::Limits;

/// Time between two attempts to take the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// How long to wait for the first lock. Its process may be suspended, and the waiting process holds a compile permit
/// that other files need. It is three times as long as the slowest honest file took.
const MAX_WAIT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 20 });

impl Compiler {
    /// Waits until no other process compiles the same file, and takes the lock. After [`MAX_WAIT`], one of the waiting
    /// processes takes the second lock. The others wait for either lock, for at most `compile_ms`; then each compiles
    /// the file itself. Without a cache there is no lock.
    pub(super) async fn lock(&self, key: Key, limits: &Limits) -> Option<CompileLock> {
        self.caches.first()?;
        let first =
            tokio::time::timeout(limits.compile_time().min(MAX_WAIT), self.lock_as(key, &[false])).await;
        match first {
            Ok(lock) => lock,
            Err(_) => {
                let any = self.lock_as(key, &[false, true]);
                tokio::time::timeout(limits.compile_time(), any).await.ok().flatten()
            }
        }
    }

    /// Waits for one of these locks. In `seconds`, `false` stands for the first lock and `true` for the second.
    async fn lock_as(&self, key: Key, seconds: &'static [bool]) -> Option<CompileLock> {
        loop {
            let caches = Arc::clone(&self.caches);
            let locking = spawn_blocking(move || {
                let cache = caches.first()?;
                seconds.iter().find_map(|second| cache.lock(&key, *second).transpose())
            });
            match locking.await.ok()?.transpose() {
                Ok(Some(lock)) => return Some(lock),
                Ok(None) => tokio::time::sleep(RETRY_INTERVAL).await,
                Err(error) => {
                    tracing::debug!(%error, "there is no lock in the code cache; another server may compile the same file");
                    return None;
                }
            }
        }
    }

    pub(super) async fn unlock(&self, lock: Option<CompileLock>) {
        let (Some(lock), caches) = (lock, Arc::clone(&self.caches)) else { return };
        let unlocking = spawn_blocking(move || {
            if let Some(cache) = caches.first() {
                cache.unlock(lock);
            }
        });
        // If this fails, the next server that starts removes the lock file.
        let _ = unlocking.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::compile::cache::CodeCache;
    use crate::sandbox::compile::{CompileError, Compiler};
    use crate::sandbox::compile_effort::CompileEffort;
    use crate::sandbox::engine;

    #[tokio::test]
    async fn what_another_compiles_already_is_waited_for_and_not_compiled_again() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let component = b"\0asm\x0d\0\x01\0".to_vec();
        let code = engine::compiler(CompileEffort::Full).unwrap().precompile_component(&component).unwrap();
        let other = CodeCache::open(dir.path(), 64).unwrap().unwrap();
        let cache = CodeCache::open(dir.path(), 64).unwrap().unwrap();
        // This compiler cannot compile anything itself.
        let compiler = Compiler::with_program("/bin/none".into()).with_caches([cache]);
        let key = Key::of(&engine, "d");
        let lock = other.lock(&key, false).unwrap().unwrap();
        let limits = Limits::default();
        let mut compiling = std::pin::pin!(compiler.compile(&engine, component.clone(), "d", &limits));
        let early = tokio::time::timeout(4 * RETRY_INTERVAL, &mut compiling).await;
        assert!(early.is_err(), "it waits");
        other.insert(&key, &code);
        other.unlock(lock);
        compiling.await.unwrap();
        assert!(other.lock(&key, false).unwrap().is_some(), "it has given up its own lock");

        let lock = other.lock(&Key::of(&engine, "e"), false).unwrap().unwrap();
        let compiling = compiler.compile(&engine, component, "e", &limits);
        let alone = tokio::time::timeout(5 * MAX_WAIT, compiling).await;
        assert!(matches!(alone, Ok(Err(CompileError::Unavailable(_)))), "it waits for nobody for ever");
        drop(lock);
    }
}
