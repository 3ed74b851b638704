//! Compiles a guest for the processor that valgrind shows to programs.
//!
//! That processor has fewer features than the machine's, so the code cache has nothing for it. A server under valgrind
//! cannot compile either: it would start its compiler from `/proc/self/exe`, which is valgrind itself. So the program
//! that counts runs under valgrind first, and fills the code cache in its own process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use plugport::config::{Limits, ServerConfig};
use plugport::sandbox::{CodeCache, Compiler, engine_without_pool};
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::build::shared_code_cache;

/// The argument with which the program that counts compiles one file.
pub const COMPILE: &str = "compile";

/// The maximum time: the compiler is unoptimised in part, and valgrind makes it thirty times slower.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Starts this program under valgrind, to compile a guest into the code cache that all tests share.
pub(super) async fn precompile(guest: &Path) {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--tool=none"]).arg(std::env::current_exe().unwrap()).arg(COMPILE).arg(guest);
    valgrind.stdin(Stdio::null()).kill_on_drop(true);
    let status = tokio::time::timeout(TIMEOUT, valgrind.status()).await;
    let status = status.expect("the guest is compiled in time").expect("valgrind is installed");
    assert!(status.success(), "the guest is not compiled under valgrind: {status}");
}

/// Compiles a guest into that code cache, unless it is there.
pub async fn compile(guest: &Path) {
    let component = std::fs::read(guest).unwrap();
    let digest: String = Sha256::digest(&component).iter().map(|byte| format!("{byte:02x}")).collect();
    let settings = ServerConfig::default();
    let cache = CodeCache::own(&shared_code_cache(), settings.compiled_cache_mib).unwrap();
    let engine = engine_without_pool(&settings).unwrap();
    let compiler = Compiler::in_process().with_caches(cache);
    compiler.compile(&engine, component, &digest, &Limits::default()).await.unwrap();
}
