//! The memory of values and types, and that no function uses up the budget of another.

use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Config, Engine, Store};

use super::super::transfer_cost::heap_bytes;
use super::super::{DocsSection, FunctionTools};
use super::find;
use crate::config::{Limits, ServerConfig, mib};
use crate::sandbox::{ChargeError, GuestMemory, HostFuel};

/// A function that gives a list of as many items as it is told to, of what is in the memory: `words` by turns.
fn lists(types: &str, item: &str, words: (i32, i32)) -> Vec<u8> {
    let (word, next) = words;
    let text = format!(
        r#"(component
             (core module $m
               (memory (export "memory") 64)
               (func (export "f") (param i32) (result i32) (local $at i32)
                 (loop $more
                   (i32.store offset=16 (local.get $at) (i32.const {word}))
                   (i32.store offset=20 (local.get $at) (i32.const {next}))
                   (local.set $at (i32.add (local.get $at) (i32.const 8)))
                   (br_if $more (i32.lt_u (local.get $at) (i32.const 2000000))))
                 (i32.store (i32.const 0) (i32.const 16))
                 (i32.store (i32.const 4) (local.get 0))
                 (i32.const 0)))
             (core instance $i (instantiate $m))
             {types}
             (export $e "item" (type {item}))
             (func (export "f") (param "count" u32) (result (list $e))
               (canon lift (core func $i "f") (memory (core memory $i "memory")))))"#
    );
    wat::parse_str(text).unwrap()
}

/// What the longest list takes that is not rejected, as a call has it lifted.
fn longest(types: &str, item: &str, words: (i32, i32)) -> usize {
    let engine = Engine::new(&Config::new()).unwrap();
    let bytes = lists(types, item, words);
    let component = Component::new(&engine, &bytes).unwrap();
    let found = FunctionTools::find(&component, &DocsSection::of(&bytes), &Limits::default());
    let function = found.function("f").unwrap();
    let mut longest = 0;
    for count in (4..20).map(|power| 1_u32 << power) {
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &component).unwrap();
        let entered = instance.get_func(&mut store, function.index).unwrap();
        store.set_hostcall_fuel(mib(1) / function.cost_factor);
        let mut results = [Val::Bool(false)];
        match entered.call(&mut store, &[Val::U32(count)], &mut results) {
            Ok(()) => longest = heap_bytes(&results[0]),
            Err(error) => {
                assert!(format!("{error:?}").contains("fuel allocated for hostcalls"), "{error:?}");
                return longest;
            }
        }
    }
    panic!("no list was too long: {longest}");
}

#[test]
fn what_the_engine_lifts_takes_no_more_than_it_may() {
    let names: String = (0..32).map(|at| format!(" \"f{at}\"")).collect();
    let nested = r#"(type $r (record (field "a" u8))) (export $f "inner" (type $r))
                    (type $s (record (field "b" $f))) (export $g "outer" (type $s))
                    (type $t (record (field "c" $g)))"#;
    let (zeros, one_item) = ((0, 0), (16, 1));
    for (types, words) in [
        (format!("(type $t (flags{names}))"), (-1, -1)),
        (format!("(type $t (enum{names}))"), zeros),
        (r#"(type $t (record (field "a" u8)))"#.to_owned(), zeros),
        (r#"(type $t (record (field "a" u8) (field "b" u8)))"#.to_owned(), zeros),
        (nested.to_owned(), zeros),
        ("(type $t (tuple u8))".to_owned(), zeros),
        ("(type $t (list u8))".to_owned(), one_item),
        ("(type $u (tuple u8)) (type $t (list $u))".to_owned(), one_item),
        ("(type $t string)".to_owned(), one_item),
    ] {
        let longest = longest(&types, "$t", words);
        assert!((mib(1) / 8..=mib(1)).contains(&longest), "{longest}: {types}");
    }
}

#[tokio::test]
async fn what_waits_to_be_written_is_taken_from_the_memory_of_instances() {
    let engine = Engine::new(&Config::new()).unwrap();
    let bytes = lists("(type $t (tuple u8))", "$t", (0, 0));
    let component = Component::new(&engine, &bytes).unwrap();
    let found = FunctionTools::find(&component, &DocsSection::of(&bytes), &Limits::default());
    let function = found.function("f").unwrap();
    // A quarter of it is the pool's, and a plugin alone has half of the rest: 3 MiB.
    let settings = ServerConfig { guest_memory_mib: Some(8), ..ServerConfig::default() };
    let memory = GuestMemory::new(&settings).of_plugin();
    let host_fuel = || HostFuel::of_instance(1 << 30, memory.host_call(mib(8)));
    let many = || vec![Val::List(vec![Val::Tuple(vec![Val::U8(0)]); 25_000])];
    assert!((mib(3) / 2..mib(3)).contains(&heap_bytes(&many()[0])));
    let (one, other) = (host_fuel(), host_fuel());
    let written = function.write(many(), mib(1), &one).await.unwrap();
    assert!(written.structured.unwrap().starts_with(r#"{"result":[[0],[0]"#));
    assert!(!one.cpu().is_zero(), "writing is the guest's time");
    let rejected = function.write(many(), mib(1), &other).await.unwrap_err();
    assert_eq!(rejected.downcast_ref::<ChargeError>(), Some(&ChargeError::Memory));
    one.charge(0).await.unwrap();
    function.write(many(), mib(1), &other).await.unwrap();
}

/// A function of one parameter whose type is nested so many times, beside one that is none the worse for it.
fn nested(levels: usize, wrap: impl Fn(&str) -> String) -> String {
    let mut body = String::from("(type $t0 u8)\n");
    for level in 1..=levels {
        let ty = wrap(&format!("$e{}", level - 1)).replace("$e0", "u8");
        body += &format!("(type $t{level} {ty}) (export $e{level} \"t{level}\" (type $t{level}))\n");
    }
    format!(
        r#"{body}
           (func (export "deep") (param "v" $e{levels}) (result u32)
             (canon lift (core func $i "one") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
           (func (export "good") (param "v" u32) (result u32) (canon lift (core func $i "one")))"#
    )
}

#[test]
fn types_are_as_deep_as_the_schemas_that_the_catalog_takes() {
    let record = |inner: &str| format!(r#"(record (field "a" {inner}))"#);
    let deepest = |levels| find(&nested(levels, record), &Limits::default());
    // An object for all, and two levels for each record in its one field; a number's own schema is the last.
    assert!(deepest(14).rejected().is_empty(), "{:?}", deepest(14).rejected());
    let most = (1..32).take_while(|levels| deepest(*levels).rejected().is_empty()).last().unwrap();
    for levels in [most, most + 1, 31] {
        let found = deepest(levels);
        let tools = found.tools();
        let depth = |tool: &crate::plugin::Tool| {
            crate::json::depth(&serde_json::from_str(&tool.input_schema).unwrap())
        };
        assert!(tools.iter().all(|tool| depth(tool) <= 32));
        assert_eq!(tools.len(), if levels == most { 2 } else { 1 }, "{levels}");
        let why = found.rejected().first().map(|left| left.why.contains("nested deeper than 32 levels"));
        assert_eq!(why, (levels != most).then_some(true));
    }
}

#[test]
fn what_is_kept_at_the_greatest_depth_is_what_the_catalog_can_read() {
    let record = |inner: &str| format!(r#"(record (field "a" {inner}))"#);
    let deepest = |levels| find(&nested(levels, record), &Limits::default());
    for (levels, kept) in [(14, 2), (15, 1), (16, 1)] {
        let found = deepest(levels);
        let tools = found.tools();
        assert_eq!(tools.len(), kept, "{levels}: {:?}", found.rejected());
        assert!(tools.iter().all(|tool| crate::json::raw(&tool.input_schema).is_ok()), "{levels}");
    }
}

#[test]
fn names_use_the_budget_and_a_rejected_function_uses_none() {
    let names: String = (0..4_000).map(|at| format!(" \"n{at}\"")).collect();
    let function = |at: usize, more: &str| {
        format!(
            r#"(func (export "f{at}") (param "v" $e) {more} (result u32) (canon lift (core func $i "{}")))"#,
            if more.is_empty() { "one" } else { "two" }
        )
    };
    let enums = format!("(type $t (enum{names})) (export $e \"names\" (type $t))");
    let limits = Limits { transfer_mib: 1, schema_kib: 4_096, ..Limits::default() };
    // Only one function passes: its names take more than half of the budget.
    let body = format!("{enums}{}{}", function(0, ""), function(1, ""));
    let found = find(&body, &limits);
    assert_eq!((found.tools().len(), found.rejected().len()), (1, 1));
    assert!(found.rejected()[0].why.contains("limit `transfer_mib`"), "{:?}", found.rejected());
    // Two of them in one function are too much, however often; the next one does not pay for it.
    let twice: String = (0..20).map(|at| function(at, r#"(param "w" $e)"#)).collect();
    let found = find(&format!("{enums}{twice}{}", function(20, "")), &limits);
    assert_eq!((found.tools().len(), found.rejected().len()), (1, 20), "{:?}", found.rejected());
    assert_eq!(found.tools()[0].name, "f20");
}

#[test]
fn an_untrusted_name_is_shown_as_far_as_anyone_would_read_it() {
    let long = format!("f{}", "x".repeat(90_000));
    let left = super::super::RejectedFunction { name: long, why: String::new() };
    assert!(left.shown().len() < 70, "{}", left.shown());
}
