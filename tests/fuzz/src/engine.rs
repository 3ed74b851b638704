//! libFuzzer over one target: `fuzz-engine --target=NAME CORPUS -max_total_time=600 ...`.
//!
//! libFuzzer reads every argument but those that begin with two dashes. `cargo fuzzing` builds and runs it; started by
//! hand it prints what libFuzzer can do (`-help=1`).

#![no_main]
#![allow(
    missing_docs,
    unsafe_code,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a tool that talks to its user; the macro exports what libFuzzer calls"
)]

use std::cell::RefCell;
use std::error::Error;
use std::path::Path;
use std::sync::OnceLock;

use plugport_fuzz::{Target, saved};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

libfuzzer_sys::fuzz_target!(init: prepare(), |input: &[u8]| {
    INPUT.with_borrow_mut(|kept| {
        kept.clear();
        kept.extend_from_slice(input);
    });
    (TARGET.get().expect("`prepare` ran").check)(input);
});

/// Finds the target, handles our own arguments, and prints a finding as the line that saves it.
fn prepare() {
    let arguments: Vec<String> = std::env::args().collect();
    let told = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
    let name = told("--target=").unwrap_or_default();
    let target = plugport_fuzz::target(name).unwrap_or_else(|| {
        eprintln!("no target is called `{name}`");
        std::process::exit(2);
    });
    TARGET.set(target).ok().expect("there is one target");
    let done = act(target, told);
    if done.expect("the saved inputs can be read and written") {
        std::process::exit(0);
    }
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let line = INPUT.with_borrow(|input| saved_inputs::write(input));
        let name = target.name;
        eprintln!(
            "\nthis breaks the promise of `{name}`; it is a line for tests/fuzz/inputs/{name}.txt:\n{line}\n"
        );
        abort(panic);
    }));
}

/// Handles our own arguments; returns whether that was all.
fn act<'a>(target: &Target, told: impl Fn(&str) -> Option<&'a str>) -> Result<bool, Box<dyn Error>> {
    let (written, kept) = (saved_inputs::written(target.name), saved_inputs::kept(target.name));
    if let Some(folder) = told("--seed=") {
        unpack(&saved_inputs::inputs(&written)?, "written", Path::new(folder))?;
    }
    if let Some(folder) = told("--unpack=").map(Path::new) {
        unpack(&saved_inputs::inputs(&written)?, "written", folder)?;
        unpack(&saved_inputs::inputs(&kept)?, "kept", folder)?;
        let words = target.words.iter().map(|word| format!("\"{}\"\n", escaped(word)));
        std::fs::write(folder.with_extension("words"), words.collect::<String>())?;
    }
    if let Some(folder) = told("--keep=") {
        std::fs::write(kept, packed(Path::new(folder))?)?;
        return Ok(true);
    }
    Ok(false)
}

/// Writes inputs into the folder that libFuzzer reads.
fn unpack(inputs: &[Vec<u8>], name: &str, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let numbered =
        |(number, input): (usize, &Vec<u8>)| std::fs::write(folder.join(format!("{name}-{number}")), input);
    inputs.iter().enumerate().try_for_each(numbered)
}

/// The inputs that libFuzzer added to a folder, as lines, short ones first.
fn packed(folder: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("written-") {
            lines.push(saved_inputs::write(&std::fs::read(entry.path())?) + "\n");
        }
    }
    lines.sort_by_key(|line| (line.len(), line.clone()));
    Ok(lines.concat())
}

/// In the syntax of libFuzzer's dictionaries: `\\`, `\"` and `\xAB`.
fn escaped(word: &str) -> String {
    let byte = |byte: u8| match byte {
        b'\\' | b'"' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    word.bytes().map(byte).collect()
}
