//! Files that no toolchain makes: small components that are costly to compile, and damaged ones.

use crate::build::guest;
use crate::shipped_files::{skill, with_files, with_raw_file};

/// The smallest component.
pub const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

/// What an app says that reaches a host which nobody granted.
const PHONES_HOME: &str = r#"{"csp":{"connectDomains":["https://a.test"]}}"#;

/// A component with a skill whose frontmatter goes on like this.
fn skill_with(frontmatter: &str) -> Vec<u8> {
    with_files(&guest("version_a"), &[("skills/a/SKILL.md", &skill("a", frontmatter))])
}

/// A file that is no plugin, or has a part that is not published, by the name of its fault.
pub fn made(wrong: &str) -> Vec<u8> {
    let good = || std::fs::read(guest("version_a")).unwrap();
    match wrong {
        "empty" => Vec::new(),
        "one_byte" => b"\0".to_vec(),
        "half" => good()[..good().len() / 2].to_vec(),
        "short" => good()[..good().len() - 1].to_vec(),
        "noise" => EMPTY.iter().copied().chain(seeded_bytes(40, 4_096)).collect(),
        "flipped" => flipped(&good()),
        "core_module" => wat::parse_str("(module (func (export \"f\")))").unwrap(),
        "other_world" => exporting("wasi:http/incoming-handler@0.2.0"),
        "long_names" => named(&"f".repeat(1 << 20)),
        "later_version" => exporting("plugport:plugin/tools@0.9.0"),
        "hollow" => exporting("plugport:plugin/tools@0.1.0"),
        "text" => b"#!/bin/sh\nrm -rf /\n".to_vec(),
        "page" => b"<!doctype html><title>404</title>".to_vec(),
        "program" => std::fs::read("/proc/self/exe").unwrap()[..1 << 20].to_vec(),
        "archive" => b"PK\x03\x04\x14\0\0\0\x08\0".to_vec(),
        "compressed" => b"\x1f\x8b\x08\0\0\0\0\0".to_vec(),
        "compiled" => compiled(),
        "files_path_of_4_gib" => with_raw_file(&good(), b"\x01\xff\xff\xff\xff\x0fui/a.html"),
        "files_section_of_4_gib" => {
            [&good()[..], b"\x00\xff\xff\xff\xff\x0f\x0eplugport:files\x01\x09ui/a.html"].concat()
        }
        "files_later_format" => with_raw_file(&good(), b"\x02"),
        "files_climbing" => with_raw_file(&good(), b"\x01\x10skills/../../etc"),
        "files_absolute" => with_raw_file(&good(), b"\x01\x0b/etc/passwd"),
        "files_twice" => ["skills/a/b", "skills/A/b"].iter().fold(good(), |component, path| {
            with_raw_file(&component, &[b"\x01\x0a", path.as_bytes()].concat())
        }),
        "files_many" => (0..513_u32).fold(good(), |component, number| {
            with_raw_file(&component, &[b"\x01\x09ui/", format!("{number:06}").as_bytes()].concat())
        }),
        "skill_laughs" => skill_with("a: &a [lol, lol]\nb: &b [*a, *a]\n"),
        "skill_tag" => skill_with("a: !!python/object/apply:os.system [ls]\n"),
        "skill_keys" => skill_with(&(0..10_000).map(|n| format!("k{n}: v\n")).collect::<String>()),
        "skill_deep" => skill_with(&(0..90).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>()),
        "skill_hidden" => skill_with("a: \"\u{202e}\"\n"),
        "app_phones_home" => with_files(
            &guest("version_a"),
            &[("ui/a.html", "<script>fetch('https://a.test')</script>"), ("ui/a.meta.json", PHONES_HOME)],
        ),
        _ => panic!("no file is made with {wrong:?}"),
    }
}

/// A component whose one function has this name.
fn named(function: &str) -> Vec<u8> {
    wat::parse_str(format!("(component (core module (func ${function})))")).unwrap()
}

/// A component that exports an instance without functions under this name.
fn exporting(name: &str) -> Vec<u8> {
    wat::parse_str(format!("(component (instance $i) (export {name:?} (instance $i)))")).unwrap()
}

/// A component of the engine's own, compiled: machine code under the name of a plugin.
fn compiled() -> Vec<u8> {
    let mut config = wasmtime::Config::new();
    config.consume_fuel(true);
    wasmtime::Engine::new(&config).unwrap().precompile_component(EMPTY).unwrap()
}

/// A good file with one flipped bit in a code section; the component's header stays.
fn flipped(good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for at in (64..bytes.len()).step_by(997) {
        bytes[at] ^= 0x10;
    }
    bytes
}

fn seeded_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = seeded(seed);
    (0..count).map(|_| u8::try_from(random(256)).unwrap()).collect()
}

const CORE: &[u8] = b"\0asm\x01\0\0\0";

/// Component files whose compiling costs far more than their size, by name.
pub fn compile_bombs() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("functions", many_functions(100_000)),
        ("function", one_function(&long_body(5 << 20))),
        ("nesting", one_function(&nested(1_000_000))),
        ("jumps", one_function(&jumps(2_000))),
        ("types", many_types(999_999)),
        ("components", nested_components(5_000)),
    ]
}

/// Many functions, each with some code to optimise.
pub fn many_functions(count: u32) -> Vec<u8> {
    let body = function(&long_body(200));
    let functions = [number(count), vec![0; count as usize]].concat();
    let mut code = number(count);
    (0..count).for_each(|_| code.extend_from_slice(&body));
    component(&[CORE, &section(1, &TYPE), &section(3, &functions), &section(10, &code)].concat())
}

/// The same component with an unused part, so that its digest differs.
pub fn labelled(component: &[u8], label: &str) -> Vec<u8> {
    let name = [number(u32::try_from(label.len()).unwrap()), label.into()].concat();
    [component, &section(0, &name)].concat()
}

/// The same component with many unused functions, so that it takes long to compile.
pub fn burdened(component: &[u8], functions: u32) -> Vec<u8> {
    [component, &many_functions(functions)[EMPTY.len()..]].concat()
}

/// One function with this body.
pub fn one_function(body: &[u8]) -> Vec<u8> {
    let code = [number(1), function(body)].concat();
    component(&[CORE, &section(1, &TYPE), &section(3, &[1, 0]), &section(10, &code)].concat())
}

/// Unused types.
pub fn many_types(count: u32) -> Vec<u8> {
    let mut types = number(count);
    // Each differs from the one before, so that no two are merged.
    for at in 0..count {
        let parameters: Vec<u8> = (0..20).map(|bit| if at >> bit & 1 == 0 { 0x7f } else { 0x7e }).collect();
        types.extend_from_slice(&[0x60, 20]);
        types.extend_from_slice(&parameters);
        types.push(0);
    }
    component(&[CORE, &section(1, &types)].concat())
}

/// A component in a component in a component.
pub fn nested_components(depth: usize) -> Vec<u8> {
    let mut inner = EMPTY.to_vec();
    for _ in 0..depth {
        inner = [EMPTY, &section(4, &inner)].concat();
    }
    inner
}

/// Numbers that look random and are the same in every run.
pub fn seeded(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    }
}

/// One type: a function of one number.
const TYPE: [u8; 5] = [1, 0x60, 1, 0x7f, 0];

/// Arithmetic on the parameter, this many bytes of it.
fn long_body(bytes: usize) -> Vec<u8> {
    // local.get 0, i32.const 7, i32.mul, local.get 0, i32.add, local.set 0
    [0x20, 0, 0x41, 7, 0x6c, 0x20, 0, 0x6a, 0x21, 0].repeat(bytes / 10)
}

/// Blocks inside blocks.
fn nested(depth: usize) -> Vec<u8> {
    [[0x02, 0x40].repeat(depth), vec![0x0b; depth]].concat()
}

/// Loops that jump to every loop around them.
fn jumps(depth: u32) -> Vec<u8> {
    let mut body = [0x03, 0x40].repeat(depth as usize);
    for at in 0..depth {
        // local.get 0, br_table to all that are open
        let open = depth - at;
        body.extend_from_slice(&[0x02, 0x40, 0x20, 0, 0x0e]);
        body.extend(number(open - 1));
        (0..open).for_each(|label| body.extend(number(label)));
        body.extend_from_slice(&[0x0b, 0x0b]);
    }
    body
}

fn function(body: &[u8]) -> Vec<u8> {
    let whole = [&[0], body, &[0x0b]].concat();
    [number(u32::try_from(whole.len()).unwrap()), whole].concat()
}

fn component(module: &[u8]) -> Vec<u8> {
    [EMPTY, &section(1, module)].concat()
}

/// A section of a module or a component.
pub fn section(id: u8, body: &[u8]) -> Vec<u8> {
    [vec![id], number(u32::try_from(body.len()).unwrap()), body.to_vec()].concat()
}

/// LEB128.
fn number(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
