//! A file, a port and a secret of the machine that no hostile guest may reach.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::shortened;
use crate::build;
use crate::server::Server;

/// The variable of the server that holds the secret.
const VARIABLE: &str = "PLUGPORT_TESTS_CANARY";

/// The secret, which no guest and no log may contain.
const TOKEN: &str = "canary-3f9a61c2e8d740b5";

/// The canaries of one attack.
pub(crate) struct Canaries {
    folder: TempDir,
    port: u16,
    visits: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Canaries {
    /// Creates the canaries.
    pub(crate) async fn prepare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("canary.txt"), TOKEN).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        let listening = tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { folder, port, visits, listening }
    }

    /// The variable of the server's environment.
    pub(crate) fn variable(&self) -> (&'static str, &'static str) {
        (VARIABLE, TOKEN)
    }

    /// Inserts them into the arguments of a guest.
    pub(crate) fn insert(&self, arguments: &str) -> String {
        let file = self.file().display().to_string();
        arguments
            .replace("{file}", &file)
            .replace("{port}", &self.port.to_string())
            .replace("{variable}", VARIABLE)
    }

    /// Asserts that a text for a client does not contain the secret.
    pub(crate) fn search(&self, text: &str) {
        Self::assert_secret(text);
    }

    /// The same without the canaries.
    pub(crate) fn assert_secret(text: &str) {
        assert!(!text.contains(TOKEN), "the secret is in {}", shortened(text));
    }

    /// (h): all canaries are unchanged.
    pub(crate) async fn assert_untouched(&self, entry: &str, server: &Server) {
        assert_eq!(
            std::fs::read_to_string(self.file()).ok().as_deref(),
            Some(TOKEN),
            "{entry}: the canary file"
        );
        assert_eq!(
            std::fs::read_dir(self.folder.path()).unwrap().count(),
            1,
            "{entry}: files beside the canary"
        );
        assert_eq!(self.visits.load(Ordering::Relaxed), 0, "{entry}: visits to the canary port");
        self.search(&server.log());
        let audit = server.state().join("audit.jsonl");
        self.search(&std::fs::read_to_string(audit).unwrap_or_default());
        let entries = std::fs::read_dir(server.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let strange = |name: &std::ffi::OsString| {
            let name = name.to_string_lossy();
            !name.ends_with(".wasm") && name != "plugport.toml" && name != build::HOME
        };
        assert_eq!(entries.filter(strange).collect::<Vec<_>>(), [""; 0], "{entry}: files beside the plugins");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("canary.txt")
    }
}

impl Drop for Canaries {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
