//! Reading a file in a component, which the server serves without an instance.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::ServerConfig;
use plugport::mcp::Server;
use plugport::transport::http::router;
use plugport_common::{ShippedFile, append_file};
use serde_json::json;

use super::Figure;
use super::post::{Post, Repeated};
use crate::support::in_process::measure_in_process;
use crate::support::{GUEST, entry, loader};

const URI: &str = "skill://polite/review/SKILL.md";
const KIB: usize = 4;
const TIME: Duration =
    if cfg!(debug_assertions) { Duration::from_millis(200) } else { Duration::from_secs(4) };

/// µs of processor time.
const AIM: f64 = 40.0;

pub(super) fn measure(guest: &Path) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(GUEST);
    let mut component = std::fs::read(guest).unwrap();
    let text = format!("---\nname: review\ndescription: Reviews code.\n---\n{}\n", "x".repeat(KIB << 10));
    let skill = ShippedFile { path: "skills/review/SKILL.md", contents: text.as_bytes() };
    append_file(&mut component, skill).unwrap();
    std::fs::write(&file, component).unwrap();
    let name = format!("reading a skill of {KIB} KiB in a component");
    let row = measure_in_process(&name, TIME, async || {
        let post = Post::new("resources/read", URI, json!({ "uri": URI }), false);
        Repeated { router: routes(&file).await, post, expected: "Reviews code." }
    });
    vec![Figure::new(&row.name, row.cpu_us, "µs CPU", Some(AIM))]
}

async fn routes(file: &Path) -> Router {
    let catalog = Catalog::new(Snapshot::new(vec![entry(&loader(), file, &[]).await]));
    router(Arc::new(Server::new(Arc::new(catalog), ServerConfig::default())))
}
