//! Waits while another process compiles the same file, so that servers that start together compile each file once.
//!
//! The lock lies in the cache beside the file's place; the system takes it from whoever ends. It is advice: whoever
//! waited for too long, or cannot lock, compiles for itself, and what both keep is the same.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::Compiler;
use super::cache::{CompileLock, Key};
use crate::config::Limits;

/// How often one who waits for another process that compiles the same looks whether it is done.
const LOOK: Duration = Duration::from_millis(50);

/// How long it waits for the first, and has a place meanwhile that other files wait for: that process may have been
/// stopped. Three times what an honest file was measured to take.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 20 });

impl Compiler {
    /// Waits while somebody else compiles the same, and then says to others that we do. However many wait too long for
    /// the first, one of them becomes the second, and the others wait for either, for `compile_ms` at most; then each
    /// compiles for itself. Without a place for what is compiled there is nothing to wait for.
    pub(super) async fn lock(&self, key: Key, limits: &Limits) -> Option<CompileLock> {
        self.caches.first()?;
        let first =
            tokio::time::timeout(limits.compile_time().min(PATIENCE), self.lock_as(key, &[false])).await;
        match first {
            Ok(lock) => lock,
            Err(_) => {
                let any = self.lock_as(key, &[false, true]);
                tokio::time::timeout(limits.compile_time(), any).await.ok().flatten()
            }
        }
    }

    /// Waits for one of these locks: the first, or also the second.
    async fn lock_as(&self, key: Key, seconds: &'static [bool]) -> Option<CompileLock> {
        loop {
            let caches = Arc::clone(&self.caches);
            let locking = spawn_blocking(move || {
                let cache = caches.first()?;
                seconds.iter().find_map(|second| cache.lock(&key, *second).transpose())
            });
            match locking.await.ok()?.transpose() {
                Ok(Some(lock)) => return Some(lock),
                Ok(None) => tokio::time::sleep(LOOK).await,
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
        // When it fails, the next start sees to its file.
        let _ = unlocking.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::compile::cache::CodeCache;
    use crate::sandbox::compile::{CompileError, Compiler};
    use crate::sandbox::engine;

    #[tokio::test]
    async fn what_another_compiles_already_is_waited_for_and_not_compiled_again() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let component = b"\0asm\x0d\0\x01\0".to_vec();
        let code = engine::compiler().unwrap().precompile_component(&component).unwrap();
        let other = CodeCache::open(dir.path(), 64).unwrap().unwrap();
        let cache = CodeCache::open(dir.path(), 64).unwrap().unwrap();
        // It can compile nothing itself.
        let compiler = Compiler::with_program("/bin/none".into()).with_caches([cache]);
        let key = Key::of(&engine, "d");
        let lock = other.lock(&key, false).unwrap().unwrap();
        let limits = Limits::default();
        let mut compiling = std::pin::pin!(compiler.compile(&engine, component.clone(), "d", &limits));
        let early = tokio::time::timeout(4 * LOOK, &mut compiling).await;
        assert!(early.is_err(), "it waits");
        other.insert(&key, &code);
        other.unlock(lock);
        compiling.await.unwrap();
        assert!(other.lock(&key, false).unwrap().is_some(), "it has given up its own lock");

        let lock = other.lock(&Key::of(&engine, "e"), false).unwrap().unwrap();
        let compiling = compiler.compile(&engine, component, "e", &limits);
        let alone = tokio::time::timeout(5 * PATIENCE, compiling).await;
        assert!(matches!(alone, Ok(Err(CompileError::Unavailable(_)))), "it waits for nobody for ever");
        drop(lock);
    }
}
