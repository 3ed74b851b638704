use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use tokio::net::TcpListener;

use super::*;

/// Returns the given lists of addresses one after the other, and records the names that were looked up.
#[derive(Default)]
struct ScriptedResolver {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    lookups: Arc<Mutex<Vec<String>>>,
}

impl Resolve for ScriptedResolver {
    fn resolve(&self, name: &str, _: SharedPermit) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.lookups.lock().unwrap().push(name.to_owned());
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(answer) })
    }
}

fn egress(answers: &[&[&str]]) -> (Egress, Arc<Mutex<Vec<String>>>) {
    let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
    let answers = Mutex::new(answers.iter().map(parse).collect());
    let resolver = ScriptedResolver { answers, ..ScriptedResolver::default() };
    let lookups = Arc::clone(&resolver.lookups);
    (Egress::with_resolver(Box::new(resolver), 4), lookups)
}

const LONG: Duration = Duration::from_secs(60);

fn grants(patterns: &[&str]) -> Vec<HttpGrant> {
    patterns.iter().map(|pattern| HttpGrant::parse(pattern).unwrap()).collect()
}

fn target(scheme: Scheme, host: &str, port: u16) -> Target {
    Target { method: "GET".to_owned(), scheme, host: Host::parse(host).unwrap(), port }
}

#[tokio::test]
async fn an_answer_that_turns_private_is_refused() {
    let (egress, _) = egress(&[&["93.184.216.34"], &["127.0.0.1"], &["::ffff:10.0.0.1"], &[]]);
    let grants = grants(&["http://rebind.test"]);
    let target = target(Scheme::Http, "rebind.test", 80);
    let first = egress.addresses(&grants, &target, LONG).await.unwrap();
    assert_eq!(first, ["93.184.216.34:80".parse().unwrap()]);
    let second = egress.addresses(&grants, &target, LONG).await.unwrap_err();
    assert_eq!(second.to_string(), "it leads to 127.0.0.1, which is loopback");
    let third = egress.addresses(&grants, &target, LONG).await.unwrap_err();
    assert_eq!(third.to_string(), "it leads to 10.0.0.1, which is private");
    assert!(matches!(egress.addresses(&grants, &target, LONG).await, Err(EgressError::Name(_))));
}

#[tokio::test]
async fn one_address_that_is_not_public_refuses_all() {
    let grants = grants(&["https://mixed.test"]);
    for answer in [["8.8.8.8", "192.168.0.1"], ["fd00::1", "8.8.8.8"]] {
        let (egress, _) = egress(&[&answer]);
        let result = egress.addresses(&grants, &target(Scheme::Https, "mixed.test", 443), LONG).await;
        assert!(matches!(result, Err(EgressError::Prohibited { .. })), "{result:?}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_that_very_address_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (egress, lookups) = egress(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let grants = grants(&[&format!("http://db.test:{port}"), &format!("http://127.0.0.1:{port}")]);
    let target = target(Scheme::Http, "DB.test.", port);
    let (connected, accepted) = tokio::join!(egress.connect(&grants, &target, LONG), listener.accept());
    assert!(connected.is_ok() && accepted.is_ok());
    assert_eq!(*lookups.lock().unwrap(), ["db.test"]);
    assert!(matches!(egress.connect(&grants, &target, LONG).await, Err(EgressError::Prohibited { .. })));
}

#[tokio::test]
async fn one_plugin_takes_a_share_of_connections_and_look_ups() {
    let (egress, lookups) = egress(&[]);
    let mut permits = Vec::new();
    for _ in 0..PLUGIN_CONNECTIONS {
        permits.push(egress.connection_permit(LONG).await.unwrap());
    }
    let result = egress.connection_permit(Duration::ZERO).await.unwrap_err();
    assert_eq!(result.to_string(), "the plugin has no connection free of its 32");
    for _ in 0..PLUGIN_LOOKUPS {
        permits.push(egress.lookups.acquire().await.unwrap());
    }
    let target = target(Scheme::Http, "a.test", 80);
    let result = egress.addresses(&grants(&["http://a.test"]), &target, Duration::ZERO).await;
    assert!(matches!(result, Err(EgressError::Busy(NoSharedPermit::Plugin { .. }))), "{result:?}");
    assert!(lookups.lock().unwrap().is_empty());
    assert!(
        Egress::new(4).connection_permit(Duration::ZERO).await.is_ok(),
        "another plugin has permits of its own"
    );
}

#[tokio::test]
async fn an_address_is_granted_with_its_scheme_port_and_method_only() {
    let of = |pattern: &str| grants(&["http://db.test", "http://db.test:81", "https://db.test", pattern]);
    for (grants, scheme, port, allowed) in [
        (of("http://10.0.0.1"), Scheme::Http, 80, true),
        (of("http://10.0.0.1"), Scheme::Http, 81, false),
        (of("http://10.0.0.1"), Scheme::Https, 443, false),
        (of("POST http://10.0.0.1"), Scheme::Http, 80, false),
        (of("http://10.0.0.2"), Scheme::Http, 80, false),
    ] {
        let (egress, _) = egress(&[&["10.0.0.1"]]);
        let found = egress.addresses(&grants, &target(scheme, "db.test", port), LONG).await;
        assert_eq!(found.is_ok(), allowed, "{grants:?} {scheme} {port}: {found:?}");
    }
}

#[tokio::test]
async fn what_is_not_granted_reaches_no_resolver() {
    let (egress, lookups) = egress(&[]);
    let grants = grants(&["https://a.test"]);
    for host in ["b.test", "a.test.evil.test", "localhost", "169.254.169.254", "[::1]"] {
        let result = egress.connect(&grants, &target(Scheme::Https, host, 443), LONG).await;
        assert!(matches!(result, Err(EgressError::NotGranted)), "{host}");
    }
    assert!(lookups.lock().unwrap().is_empty());
}

#[test]
fn a_request_is_shown_as_the_grant_that_it_needs() {
    let target = target(Scheme::Http, "a.test", 8080);
    assert_eq!(target.pattern(), "GET http://a.test:8080");
    assert_eq!(target.pattern_at("::1".parse().unwrap()), "GET http://[::1]:8080");
    assert!(HttpGrant::parse(&target.pattern()).is_ok());
}
