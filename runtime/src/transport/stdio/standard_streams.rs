//! The stdin and stdout of this process.
//!
//! tokio reads and writes them on threads for blocking work, because they may be files. Passing each message to such a
//! thread costs more than most calls. MCP clients use pipes or sockets, which need no threads: `nonblocking` reads and
//! writes them. For everything else, and on systems other than Linux, tokio's own streams are used.

use super::{Reader, Writer};

/// The stdin of this process.
#[must_use]
pub fn stdin() -> Reader {
    #[cfg(target_os = "linux")]
    match super::nonblocking::reader(std::os::fd::AsFd::as_fd(&std::io::stdin())) {
        Ok(reader) => return reader,
        Err(why) => tracing::debug!("stdin is read on another thread: {why}"),
    }
    Box::new(tokio::io::stdin())
}

/// The stdout of this process.
#[must_use]
pub fn stdout() -> Writer {
    #[cfg(target_os = "linux")]
    match super::nonblocking::writer(std::os::fd::AsFd::as_fd(&std::io::stdout())) {
        Ok(writer) => return writer,
        Err(why) => tracing::debug!("stdout is written on another thread: {why}"),
    }
    Box::new(tokio::io::stdout())
}
