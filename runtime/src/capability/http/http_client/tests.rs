//! Tests of the host functions against a real server, without a guest.

use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::wit::Body;
use super::*;
use crate::capability::handle_size;
use crate::capability::tests::{instance, plugin};
use crate::config::HttpGrant;

/// A listener, its URL, and an instance with a grant for the URL.
async fn granted() -> (TcpListener, String, InstanceCtx) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut plugin = plugin();
    plugin.config.grants.http.push(HttpGrant::parse(&url).unwrap());
    (listener, url, instance(plugin).await)
}

fn get(url: &str) -> Request {
    let body = Body::Bytes(Vec::new());
    Request { method: "GET".to_owned(), url: url.to_owned(), headers: Vec::new(), body, timeout_ms: None }
}

/// Borrows the handle again, as a guest does with each function call.
fn again(request: &Resource<SentRequest>) -> Resource<SentRequest> {
    Resource::new_borrow(request.rep())
}

async fn sent(state: &mut InstanceCtx, request: Request) -> Resource<SentRequest> {
    state.send(request).await.unwrap().unwrap()
}

/// Accepts the next connection and reads the head of its request.
async fn accept(listener: &TcpListener) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap())
}

async fn read_all(state: &mut InstanceCtx, request: &Resource<SentRequest>) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        match state.read(again(request)).await.unwrap().unwrap() {
            piece if piece.is_empty() => return body,
            piece => body.extend(piece),
        }
    }
}

#[tokio::test]
async fn several_requests_are_under_way_and_the_one_with_news_is_named() {
    let (listener, url, mut state) = granted().await;
    let (first, second) =
        (sent(&mut state, get(&format!("{url}/1"))).await, sent(&mut state, get(&format!("{url}/2"))).await);
    let both = || vec![again(&first), again(&second)];
    // Both requests have arrived before either gets a response.
    let (one, other) = (accept(&listener).await, accept(&listener).await);
    let mut stream = if other.1.starts_with("GET /2 ") { other.0 } else { one.0 };
    assert_eq!(Host::wait(&mut state, both(), Some(0)).await.unwrap(), [0; 0]);
    stream.write_all(b"HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhe").await.unwrap();
    assert_eq!(Host::wait(&mut state, both(), None).await.unwrap(), [1]);
    let response = state.response(again(&second)).await.unwrap().unwrap();
    assert_eq!((response.status, response.headers[0].clone()), (200, ("x-a".to_owned(), "b".to_owned())));
    assert_eq!(state.read(again(&second)).await.unwrap().unwrap(), b"he");
    // What the guest has read already is not news.
    assert_eq!(Host::wait(&mut state, both(), Some(20)).await.unwrap(), [0; 0]);
    stream.write_all(b"llo").await.unwrap();
    assert_eq!(Host::wait(&mut state, both(), None).await.unwrap(), [1]);
    assert_eq!(read_all(&mut state, &second).await, b"llo");
    assert!(!state.capabilities.is_quiet(), "the other has no response yet");
    HostSentRequest::drop(&mut state, first).await.unwrap();
    HostSentRequest::drop(&mut state, second).await.unwrap();
    for _ in 0..500 {
        if state.capabilities.is_quiet() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("something goes on");
}

#[tokio::test]
async fn a_body_in_pieces_arrives_and_ends_where_the_guest_says() {
    let (listener, url, mut state) = granted().await;
    for length in [None, Some(10)] {
        let post = Request { method: "POST".to_owned(), body: Body::Pieces(length), ..get(&url) };
        let request = sent(&mut state, post).await;
        let server = async {
            let (mut stream, head) = accept(&listener).await;
            let mut body = Vec::new();
            let end: &[u8] = if length.is_some() { b"helloworld" } else { b"0\r\n\r\n" };
            while !body.ends_with(end) {
                body.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            (head.to_ascii_lowercase(), body, stream)
        };
        let guest = async {
            for piece in ["hello", "", "world"] {
                assert!(state.write(again(&request), piece.into()).await.unwrap().unwrap());
            }
            if length.is_some() {
                let more = state.write(again(&request), b"!".to_vec()).await.unwrap();
                assert!(matches!(more, Err(Failure::Invalid(_))), "{more:?}");
            }
            state.finish(again(&request)).await.unwrap();
            assert!(state.write(again(&request), b"!".to_vec()).await.unwrap().is_err());
            assert_eq!(state.response(again(&request)).await.unwrap().unwrap().status, 204);
            assert_eq!(read_all(&mut state, &request).await, b"");
        };
        let ((head, body, _stream), ()) = tokio::join!(server, guest);
        match length {
            None => {
                assert!(head.contains("transfer-encoding: chunked"), "{head}");
                assert_eq!(body, b"5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n");
            }
            Some(_) => assert!(head.contains("content-length: 10"), "{head}"),
        }
    }
}

#[tokio::test]
async fn a_denial_names_the_line_that_would_allow_the_request() {
    let (listener, url, mut state) = granted().await;
    let outcome = state.send(get("https://a.test/secret")).await.unwrap();
    let Err(Failure::Denied(denial)) = outcome else { panic!() };
    assert_eq!(denial.request, "GET https://a.test");
    assert_eq!(denial.grant, r#"http = ["GET https://a.test"]"#);
    let host = ("Host".to_owned(), "b.test".to_owned());
    let outcome = state.send(Request { headers: vec![host], ..get(&url) }).await.unwrap();
    assert!(matches!(outcome, Err(Failure::Invalid(_))));
    // With the listener dropped, a connection is refused.
    drop(listener);
    let request = sent(&mut state, get(&url)).await;
    let failed = state.response(again(&request)).await.unwrap();
    assert!(matches!(failed, Err(Failure::Unreachable)), "{failed:?}");
    assert_eq!(Host::wait(&mut state, vec![again(&request)], None).await.unwrap(), [0]);
    assert!(matches!(state.read(request).await.unwrap(), Err(Failure::Unreachable)));
}

#[tokio::test]
async fn a_response_that_breaks_off_gives_first_what_came_and_then_the_failure() {
    let (listener, url, mut state) = granted().await;
    let request = sent(&mut state, get(&url)).await;
    let (mut stream, _) = accept(&listener).await;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this").await.unwrap();
    drop(stream);
    let mut body = Vec::new();
    let failure = loop {
        match state.read(again(&request)).await.unwrap() {
            Ok(piece) => body.extend(piece),
            Err(failure) => break failure,
        }
    };
    assert_eq!(body, b"only this");
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");
}

#[tokio::test]
async fn limits_hold_for_what_a_guest_hands_over() {
    let (_listener, url, mut state) = granted().await;
    let post = |body| Request { method: "POST".to_owned(), body, ..get(&url) };
    let request = sent(&mut state, post(Body::Pieces(None))).await;
    let long = state.write(again(&request), vec![0; (64 << 10) + 1]).await.unwrap();
    assert!(matches!(long, Err(Failure::Invalid(_))), "{long:?}");
    // More bytes than `http_request_kib` allows.
    let request = sent(&mut state, post(Body::Bytes(vec![0; 2 << 20]))).await;
    let Err(Failure::OverLimit(limit)) = state.response(request).await.unwrap() else { panic!() };
    assert_eq!(limit, "http_request_kib");
    let fields = vec![("a".to_owned(), "v".repeat(1_000)); 17];
    let outcome = state.send(Request { headers: fields, ..get(&url) }).await.unwrap();
    assert!(matches!(outcome, Err(Failure::OverLimit(_))));
}

#[tokio::test]
async fn what_a_handle_keeps_is_counted() {
    let (listener, url, mut state) = granted().await;
    let request = sent(&mut state, Request { body: Body::Bytes(vec![0; 100_000]), ..get(&url) }).await;
    let kept =
        |state: &mut InstanceCtx| state.table.iter_mut().map(|entry| handle_size(entry)).sum::<usize>();
    assert!(kept(&mut state) >= 100_000 + (64 << 10));
    HostSentRequest::drop(&mut state, request).await.unwrap();
    assert_eq!(kept(&mut state), 0);
    // A server that responds before it reads the body makes the host keep both.
    let post = Request { method: "POST".to_owned(), body: Body::Bytes(vec![0; 900_000]), ..get(&url) };
    let request = sent(&mut state, post).await;
    let (mut stream, _) = accept(&listener).await;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe").await.unwrap();
    assert_eq!(state.response(again(&request)).await.unwrap().unwrap().status, 200);
    assert!(kept(&mut state) >= 900_000 + (64 << 10));
}

#[tokio::test]
async fn a_body_that_is_shorter_than_declared_is_the_mistake_of_the_guest() {
    let (_listener, url, mut state) = granted().await;
    let post = Request { method: "POST".to_owned(), body: Body::Pieces(Some(10)), ..get(&url) };
    let request = sent(&mut state, post).await;
    assert!(state.write(again(&request), b"hello".to_vec()).await.unwrap().unwrap());
    state.finish(again(&request)).await.unwrap();
    let Err(Failure::Invalid(why)) = state.response(again(&request)).await.unwrap() else { panic!() };
    assert_eq!(why, "its body is shorter than was said");
}

#[tokio::test]
async fn a_body_that_the_host_stops_taking_leaves_its_reason_to_the_response() {
    let (listener, url, mut state) = granted().await;
    let reader = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    let declared = 2 * 1024 * state.plugin.config.limits.http_request_kib;
    let post = Request { method: "POST".to_owned(), body: Body::Pieces(Some(declared)), ..get(&url) };
    let request = sent(&mut state, post).await;
    while state.write(again(&request), vec![0; 64 << 10]).await.unwrap().unwrap() {}
    state.finish(again(&request)).await.unwrap();
    let outcome = state.response(request).await.unwrap();
    assert!(matches!(&outcome, Err(Failure::OverLimit(limit)) if limit == "http_request_kib"), "{outcome:?}");
    reader.abort();
}

#[tokio::test]
async fn the_timeout_of_a_request_bounds_the_wait_for_its_permit() {
    let (_listener, url, mut state) = granted().await;
    // The listener accepts nobody, so these keep all permits.
    let mut before = Vec::new();
    for _ in 0..state.plugin.config.limits.http_parallel {
        before.push(sent(&mut state, get(&url)).await);
    }
    let request = sent(&mut state, Request { timeout_ms: Some(200), ..get(&url) }).await;
    let begun = Instant::now();
    let outcome = state.response(request).await.unwrap();
    assert!(matches!(outcome, Err(Failure::TimedOut)), "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn waiting_for_no_request_sleeps() {
    let (_listener, _url, mut state) = granted().await;
    let begun = Instant::now();
    assert_eq!(Host::wait(&mut state, Vec::new(), Some(30)).await.unwrap(), [0; 0]);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    assert_eq!(Host::wait(&mut state, Vec::new(), None).await.unwrap(), [0; 0]);
}
