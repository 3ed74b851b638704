//! Prometheus and its `promtool`, which `cargo verify` unpacks below `target` where it can.
//!
//! A machine without them skips what needs them, unless `cargo verify` has said by a variable that they are there.

use std::path::PathBuf;

use crate::build::root;

/// `cargo verify` sets this when it has found or unpacked the programs.
const IS_INSTALLED: &str = "PLUGPORT_PROMETHEUS_IS_INSTALLED";

/// One of the programs; `None` if it is not there.
///
/// Panics if it is not there although `cargo verify` has unpacked it.
#[expect(clippy::print_stderr, reason = "a test that did not run must not look like one that did")]
pub fn program(name: &str) -> Option<PathBuf> {
    let file = root().join("target/prometheus/usr/bin").join(name);
    if file.is_file() {
        return Some(file);
    }
    let missing = format!("there is no {}; `cargo verify` unpacks it on Debian", file.display());
    assert!(std::env::var_os(IS_INSTALLED).is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    None
}
