//! The address behind a proxy: whose it is in the audit.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn only_a_trusted_proxy_names_the_caller() {
    for (config, caller) in [
        ("", "127.0.0.1"),
        ("[server]\ntrusted_proxies = [\"10.0.0.0/8\"]\n", "127.0.0.1"),
        ("[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n", "192.0.2.7"),
    ] {
        let server = Server::builder().guest("polite").config(config).start().await;
        let meta = plugport_tests::http_client::stateless_meta();
        let params = json!({ "name": "polite-echo", "arguments": { "message": "x" }, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "polite-echo"),
            ("x-forwarded-for", "198.51.100.9, 192.0.2.7, 127.0.0.9"),
        ];
        assert_eq!(Client::new(server.url()).post(&headers, body.to_string()).await.tool_text(), "x");
        let is_clients = |line: &Value| line["event"] == "call" && line["caller"] != "server";
        let calls = server.wait_for_audit_lines(is_clients, 1).await;
        assert_eq!(calls[0]["caller"], caller, "{config}");
    }
}
