//! One quota and many calls at once: what lies on the disk never goes beyond it, at any moment.

use std::time::Duration;

use plugport_tests::contained::Siege;
use plugport_tests::http::Client;
use plugport_tests::server::Server;
use serde_json::json;
use tokio::task::JoinSet;

use crate::files_quota::used;

const MIB: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn eight_calls_at_once_stay_within_one_quota() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_owned();
    let config = format!(
        "[limits]\nquarantine_traps = 1000000\n[plugins.hostile_disk_filler.grants]\n\
         dirs = [{{ host = {folder:?}, guest = \"/d\", write = true, quota_mib = 4, files = 200 }}]\n"
    );
    let builder = Server::builder().guest("hostile_disk_filler").config(&config);
    let siege = Siege::begin("quota", builder).await;
    let begun = std::time::Instant::now();
    let mut callers = JoinSet::new();
    for tool in ["fill", "pour", "append_all", "crowd", "nest", "hoard", "rewrite", "churn", "tidy"] {
        let client = Client::new(siege.server().url());
        callers.spawn(async move {
            while begun.elapsed() < Duration::from_secs(5) {
                let arguments = json!({ "directory": "/d", "times": 5, "kib": 700 });
                client.call(&format!("hostile_disk_filler-{tool}"), arguments).await;
            }
        });
    }
    let mut most = (0, 0);
    while begun.elapsed() < Duration::from_secs(5) {
        let now = used(&folder);
        most = (most.0.max(now.0), most.1.max(now.1));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    callers.join_all().await;
    assert!(most.0 <= 4 * MIB && most.1 <= 200, "{most:?} of 4 MiB and 200 files");
    siege.end(128 * MIB).await;
}
