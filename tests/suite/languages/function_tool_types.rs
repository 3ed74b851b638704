//! Values of every type go to a function tool and come back unchanged.

use plugport_tests::http_client::Client;
use plugport_tests::reload::listed_tools;
use plugport_tests::server::Server;
use serde_json::{Map, Value, json};

/// Rounds through each function of `functions-all-types`.
const ROUNDS: usize = 12;

/// SplitMix64: the same values in every run.
struct RandomValues(u64);

impl RandomValues {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one<'v>(&mut self, of: &'v Value) -> &'v Value {
        let of = of.as_array().unwrap();
        &of[self.below(of.len())]
    }

    /// A value of a schema, in the form of results.
    fn value(&mut self, schema: &Value) -> Value {
        if let Some(forms) = ["anyOf", "oneOf"].iter().find_map(|word| schema.get(word)) {
            if forms[0]["type"] == "integer" && forms[1]["type"] == "string" {
                return self.wide(&forms[0]);
            }
            let form = self.one(forms).clone();
            return self.value(&form);
        }
        if let Some(names) = schema.get("enum") {
            return self.one(names).clone();
        }
        match schema["type"].as_str().unwrap() {
            "null" => Value::Null,
            "boolean" => json!(self.below(2) == 0),
            "integer" => self.whole(schema).into(),
            "number" => json!(f64::from(self.next() as i16) / 8.0),
            "string" if schema["maxLength"] == 1 => json!(["x", "é", "\"", "\u{10ffff}"][self.below(4)]),
            "string" => json!(["", "two words", "\n\"\\", "grüße 😀", "\u{0}"][self.below(5)]),
            "array" => self.array(schema),
            "object" => {
                let fields = schema["properties"].as_object().unwrap().iter();
                let fields: Map<_, _> =
                    fields.map(|(name, field)| (name.clone(), self.value(field))).collect();
                fields.into()
            }
            other => panic!("{other}"),
        }
    }

    fn array(&mut self, schema: &Value) -> Value {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.value(item)).collect();
        }
        if schema["uniqueItems"] == true {
            let names = schema["items"]["enum"].as_array().unwrap().iter();
            return names.filter(|_| self.below(2) == 0).cloned().collect();
        }
        (0..self.below(4)).map(|_| self.value(&schema["items"])).collect()
    }

    fn whole(&mut self, schema: &Value) -> i64 {
        let (least, largest) = (schema["minimum"].as_i64().unwrap(), schema["maximum"].as_i64().unwrap());
        match self.below(4) {
            0 => least,
            1 => largest,
            _ => least + (self.next() % (largest - least + 1) as u64) as i64,
        }
    }

    /// Beyond the exact integers of a double the number is a string.
    fn wide(&mut self, schema: &Value) -> Value {
        let is_signed = schema["minimum"].as_i64() != Some(0);
        match self.below(5) {
            0 => json!(schema["maximum"].to_string()),
            1 if is_signed => json!(schema["minimum"].to_string()),
            2 => json!("9007199254740992"),
            3 => json!(9_007_199_254_740_991_i64),
            _ => json!(self.below(1_000)),
        }
    }
}

#[tokio::test]
async fn every_type_goes_there_and_back_unchanged() {
    let server = Server::builder().guest("functions-all-types").start().await;
    let client = Client::new(server.url());
    let (mut dice, mut echoes) = (RandomValues(6), 0);
    for tool in listed_tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        let Some(schema) = tool["inputSchema"]["properties"].get("v") else { continue };
        if name.ends_with("echo-result") {
            continue;
        }
        echoes += 1;
        for _ in 0..ROUNDS {
            let value = dice.value(schema);
            let reply = client.call(name, json!({ "v": value })).await;
            let result = &reply.result()["structuredContent"];
            let is_it = *result == value || *result == json!({ "result": value });
            assert!(is_it, "{name}: {value} came back as {:?}", reply.response());
        }
    }
    assert_eq!(echoes, 27);
}

#[tokio::test]
async fn a_name_that_occurs_once_takes_nothing_from_a_long_list() {
    let server = Server::builder().guest("functions-all-types").start().await;
    let client = Client::new(server.url());
    // More than half of the longest list within `transfer_mib`.
    let numbers = json!(vec![65_535; 110_000]);
    let all = json!({ "v0": 1, "v1": "", "v2": numbers, "v3": "nothing", "v4": "x" });
    let many = client.call("functions-all-types-echo-many", all).await;
    assert_eq!(many.result()["structuredContent"]["result"][2], numbers);
}

#[tokio::test]
async fn results_and_their_absence_are_told_in_the_words_of_mcp() {
    let server = Server::builder().guest("functions-all-types").start().await;
    let client = Client::new(server.url());
    let good = client.call("functions-all-types-echo-result", json!({ "v": { "ok": "fine" } })).await;
    assert_eq!(good.tool_text(), "fine");
    assert_eq!(good.result()["structuredContent"], json!({ "result": "fine" }));
    let bad =
        client.call("functions-all-types-echo-result", json!({ "v": { "err": { "circle": 2.5 } } })).await;
    assert_eq!(bad.tool_error(), r#"{"circle":2.5}"#);
    assert_eq!(client.call("functions-all-types-nothing", json!({})).await.tool_text(), "done");
    let all = json!({ "v0": 1, "v2": [2, 3], "v3": "nothing", "v4": "x" });
    let many = client.call("functions-all-types-echo-many", all).await;
    let expected = json!([1, null, [2, 3], "nothing", "x"]);
    assert_eq!(many.result()["structuredContent"], json!({ "result": expected }));
    let text: Value = serde_json::from_str(many.tool_text()).unwrap();
    assert_eq!(text, json!({ "result": expected }), "the same in text, for clients that read nothing else");
    let wrong = client.call("functions-all-types-echo-u8", json!({ "v": 256 })).await;
    assert!(wrong.tool_error().contains("/v"), "{wrong:?}");
    let wrong = client.call("functions-all-types-echo-u64", json!({ "v": "18446744073709551616" })).await;
    assert!(wrong.tool_error().contains("$.v: must be a whole number"), "{wrong:?}");
}
