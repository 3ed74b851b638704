//! How this server stands, as one JSON document, and the socket by which it tells.
//!
//! The document joins what the catalog offers with what only the folder knows. Each version of a plugin has an entry of its
//! own, so a plugin that is served while its new file is held back has two. What a stranger wrote has its secrets hidden here;
//! whoever shows it to people has to make it harmless.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::console;
use super::published::Published;
use crate::catalog::{Catalog, Snapshot};
use crate::config::{Config, Pin};
use crate::plugin::{Plugin, Tally};
use crate::reload::{Known, Standing, Unserved};
use crate::transport::local::Local;

/// What the document is made from.
pub(super) struct Stand {
    catalog: Arc<Catalog>,
    standing: Arc<Standing>,
    since: SystemTime,
    state: PathBuf,
    folder: PathBuf,
    config: Option<PathBuf>,
}

/// A socket that tells how the server stands, until its end is waited for.
pub(super) struct Telling {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Stand {
    /// Of a server that begins now.
    pub(super) fn new(config: &Config, catalog: Arc<Catalog>, standing: Arc<Standing>) -> Self {
        let (state, folder, config) = (config.state.clone(), config.folder.clone(), config.file.clone());
        Self { catalog, standing, since: SystemTime::now(), state, folder, config }
    }

    /// Tells everyone who asks, by a socket in the state folder. A server without one serves all the same. `serving`: where
    /// clients find it.
    pub(super) async fn tell(self, serving: String) -> Telling {
        let stop = CancellationToken::new();
        let task = match Local::bind(&self.state).await {
            Ok(local) => {
                let document = move || self.document(&serving).to_string().into_bytes();
                Some(tokio::spawn(local.serve(document, stop.clone())))
            }
            Err(error) => {
                let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
                console::remark(&format!("`plugport status` will not find this server: {error}{why}"));
                None
            }
        };
        Telling { stop, task }
    }

    fn document(&self, serving: &str) -> Value {
        let snapshot = self.catalog.current();
        let Known { unserved, draining } = self.standing.snapshot();
        let mut plugins: Vec<Value> =
            snapshot.entries().iter().map(|entry| self.served(&snapshot, &entry.plugin)).collect();
        plugins.extend(draining.iter().map(|plugin| draining_entry(plugin)));
        plugins.extend(unserved.iter().map(unserved_entry));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "since": time(self.since),
            "serving": serving,
            "folder": self.folder.display().to_string(),
            "config": self.config.as_ref().map(|file| file.display().to_string()),
            "pin": match self.standing.pin() {
                Pin::Off => "off",
                Pin::Warn => "warn",
                Pin::Strict => "strict",
            },
            "plugins": plugins,
        })
    }

    fn served(&self, snapshot: &Snapshot, plugin: &Plugin) -> Value {
        let left = plugin.quarantined();
        let mut published = Published::of(snapshot, plugin.name()).as_json();
        plugin.mask().value(&mut published);
        let file = self.folder.join(format!("{}.wasm", plugin.name()));
        let about = json!({
            "name": plugin.name(),
            "file": file.display().to_string(),
            "digest": digest(plugin.digest()),
            "state": if left.is_some() { "quarantined" } else { "serving" },
            "why": left.map(|_| "its calls keep failing (limits `quarantine_traps`, `quarantine_s`)"),
            "published": published,
            "quarantined_s": left.map(|left| left.as_secs() + 1),
        });
        with_counts(about, plugin.tally())
    }
}

fn draining_entry(plugin: &Plugin) -> Value {
    let about = json!({
        "name": plugin.name(),
        "file": null,
        "digest": digest(plugin.digest()),
        "state": "draining",
        "why": "it was replaced or taken away, and calls that began before may go on for a while (setting [server] `drain_s`)",
        "published": null,
        "quarantined_s": null,
    });
    with_counts(about, plugin.tally())
}

fn unserved_entry(file: &Unserved) -> Value {
    let about = json!({
        "name": file.plugin,
        "file": file.path.display().to_string(),
        "digest": file.digest.as_deref().map(digest),
        "state": if file.held { "held" } else { "failed" },
        "why": file.why,
        "published": null,
        "quarantined_s": null,
    });
    with_counts(about, Tally::default())
}

fn with_counts(mut entry: Value, tally: Tally) -> Value {
    let counts = json!({
        "calls": tally.begun,
        "running": tally.running,
        "ok": tally.ok,
        "failed": tally.failed,
        "forced": tally.forced,
        "cancelled": tally.cancelled,
        "refused": tally.refused,
        "limits": tally.limits,
        "fuel": tally.fuel,
        "last_call": tally.last.map(time),
    });
    if let (Value::Object(entry), Value::Object(counts)) = (&mut entry, counts) {
        entry.extend(counts);
    }
    entry
}

fn digest(digest: &str) -> String {
    format!("sha256:{digest}")
}

fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

impl Telling {
    /// Ends it and takes the socket away.
    pub(super) async fn end(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "telling how the server stands failed");
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_server_without_plugins_tells_of_itself_and_of_its_files() {
        let standing = Arc::new(Standing::new(9, Pin::Strict));
        let digest = Some("ab".to_owned());
        standing.refused(Path::new("plugins/a.wasm"), Some("a"), "approve it", true, digest);
        standing.refused(Path::new("plugins/b c.wasm"), None, "rename it", false, None);
        let config = Config::new("plugins".into());
        let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
        let document = Stand::new(&config, catalog, standing).document("stdio");
        assert_eq!((&document["serving"], &document["pin"]), (&json!("stdio"), &json!("strict")));
        assert_eq!((&document["config"], &document["folder"]), (&json!(null), &json!("plugins")));
        let [held, failed] = document["plugins"].as_array().unwrap().as_slice() else { panic!("{document}") };
        assert_eq!(
            (&held["name"], &held["state"], &held["digest"]),
            (&json!("a"), &json!("held"), &json!("sha256:ab"))
        );
        assert_eq!(
            (&held["why"], &held["calls"], &held["limits"]),
            (&json!("approve it"), &json!(0), &json!({}))
        );
        assert_eq!(
            (&failed["name"], &failed["state"], &failed["digest"]),
            (&json!(null), &json!("failed"), &json!(null))
        );
    }
}
