//! WASI's file system without the standard library, and a record of the attempts on it.

use wasip2::filesystem::types::filesystem_error_code;
pub use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};
use wasip2::io::streams::StreamError;

/// Why a stream on a file failed.
pub fn stream_error(error: &StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => {
            filesystem_error_code(error).map_or_else(|| error.to_debug_string(), |code| code.to_string())
        }
    }
}

/// The granted directory that the guest sees at this path.
pub fn granted(path: &str) -> Result<Descriptor, String> {
    let directories = wasip2::filesystem::preopens::get_directories();
    let found = directories.into_iter().find(|(_, name)| name == path);
    found.map(|(directory, _)| directory).ok_or_else(|| format!("{path} is not granted"))
}

/// All granted directories.
pub fn all_granted() -> Vec<(Descriptor, String)> {
    wasip2::filesystem::preopens::get_directories()
}

/// The attempts, a line each: the attempt, and `done` or the error.
#[derive(Default)]
pub struct Attempts(Vec<String>);

impl Attempts {
    /// Records an attempt.
    pub fn note<T, E: std::fmt::Debug>(&mut self, what: &str, outcome: Result<T, E>) {
        let outcome = match outcome {
            Ok(_) => "done".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        let what: String = what.chars().take(60).collect();
        self.0.push(format!("{what:?}: {outcome}"));
    }

    /// The whole record.
    pub fn told(self) -> String {
        self.0.join("\n")
    }
}
