use super::*;
use crate::mcp::request_id::IdText;

#[test]
fn an_id_is_short_whatever_it_is_made_of() {
    let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","method":"ping","id":"{id}"}}"#);
    assert!(Message::parse(with(&"x".repeat(IdText::MAX_BYTES)).as_bytes()).is_ok());
    for long in ["x".repeat(257), "\\u0078".repeat(257), "ü".repeat(256)] {
        let Malformed { id, error } = Message::parse(with(&long).as_bytes()).unwrap_err();
        assert_eq!((id, error.code), (None, -32600));
        assert!(error.message.contains("at most 256 bytes"), "{}", error.message);
    }
}

fn parse_error(text: &str) -> (i64, Option<RequestId>) {
    let malformed = Message::parse(text.as_bytes()).unwrap_err();
    (malformed.error.code, malformed.id)
}

#[test]
fn messages_are_told_apart() {
    let request =
        Message::parse(br#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":[1]}}"#).unwrap();
    let Message::Request(request) = request else { panic!("{request:?}") };
    assert_eq!((request.id, request.method), (RequestId::Text("a".into()), Method::Ping));
    assert_eq!(request.params.text(), r#"{"x":[1]}"#);
    let parsed = Message::parse(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(matches!(parsed, Ok(Message::Notification(_))));
    let parsed = Message::parse(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(matches!(parsed, Ok(Message::Response(Some(RequestId::Number(1)), Ok(_)))));
    let parsed =
        Message::parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#).unwrap();
    let Message::Response(None, Err(error)) = parsed else { panic!("{parsed:?}") };
    assert_eq!(error, ClientError { code: -1, message: "no".into() });
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for text in ["", "{", "nonsense", "{\"jsonrpc\":\"2.0\"} x", "{\"jsonrpc\":2\"0\"", "\u{feff}{}"] {
        assert_eq!(parse_error(text), (-32700, None), "{text:?}");
    }
    for bytes in [&b"{\"method\":\"\xff\"}"[..], b"{\"unknown\":\"\xff\"}", b"\"\xff\"", b"[\"\xff\"]"] {
        assert_eq!(Message::parse(bytes).unwrap_err().error.code, -32700);
    }
}

#[test]
fn json_that_is_no_message_is_an_invalid_request() {
    for text in [
        "1",
        "[]",
        r#"["2.0",1,"ping"]"#,
        "{}",
        r#"{"id":null,"method":"ping","jsonrpc":"2.0"}"#,
        r#"{"id":1.5,"method":"ping","jsonrpc":"2.0"}"#,
        r#"{"id":[1],"method":"ping","jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","method":"ping","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    ] {
        assert_eq!(parse_error(text), (-32600, None), "{text}");
    }
    let one = Some(RequestId::Number(1));
    assert_eq!(parse_error(r#"{"jsonrpc":"2.0","id":1,"method":5}"#), (-32600, one));
    assert_eq!(parse_error(r#"{"id":7,"method":"ping"}"#), (-32600, Some(RequestId::Number(7))));
    assert_eq!(
        parse_error(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#),
        (-32600, Some(RequestId::Number(7)))
    );
}

#[test]
fn an_id_is_any_integer_of_json_and_goes_back_as_its_value() {
    for (written, value) in [
        ("1.0", "1"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551616", "18446744073709551616"),
        ("-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{written},"method":"ping"}}"#);
        let Ok(Message::Request(request)) = Message::parse(text.as_bytes()) else { panic!("{text}") };
        let line = format!(r#"{{"jsonrpc":"2.0","id":{value},"result":{{}}}}"#);
        assert_eq!(response_to(&request.id, b"{}"), line);
    }
    for bad in ["1.5", "1e30", "9007199254740993.0", "170141183460469231731687303715884105728"] {
        assert_eq!(
            parse_error(&format!(r#"{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}"#)),
            (-32600, None)
        );
    }
}

fn response_to(id: &RequestId, result: &[u8]) -> Bytes {
    response(id, [&[b' '; RESPONSE_HEAD][..], result].concat())
}

#[test]
fn the_longest_id_fits_into_a_response() {
    let id = "\"".repeat(IdText::MAX_BYTES);
    let line = response_to(&RequestId::Text(id.as_str().into()), b"{}");
    let escaped = id.replace('"', "\\\"");
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":"{escaped}","result":{{}}}}"#));
}

#[test]
fn a_large_response_takes_no_more_memory_than_its_bytes() {
    let mut result = Vec::with_capacity(16 * UNCOUNTED_BYTES);
    result.resize(RESPONSE_HEAD + 8 * UNCOUNTED_BYTES, b' ');
    let line = response(&RequestId::Number(1), result).try_into_mut().unwrap();
    assert!(line.capacity() < 9 * UNCOUNTED_BYTES, "{}", line.capacity());
}

#[test]
fn responses_are_single_lines() {
    let line = response_to(&RequestId::Text("a\"\n".into()), b"{}");
    assert_eq!(line, r#"{"jsonrpc":"2.0","id":"a\"\n","result":{}}"#);
    let line = response_to(&RequestId::Number(1), b"{\r\n\"a\":\n1}");
    assert_eq!(line, r#"{"jsonrpc":"2.0","id":1,"result":{  "a": 1}}"#);
    let line = error_response(None, &RpcError::parse("x"));
    assert_eq!(line, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: x"}}"#);
}
