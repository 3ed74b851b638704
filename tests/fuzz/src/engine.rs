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
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool that talks to its user; the macro exports what libFuzzer calls"
)]

use std::cell::RefCell;
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

/// Finds the target, does what the arguments for us say, and sees to it that a finding is printed as the line that saves it.
fn prepare() {
    let arguments: Vec<String> = std::env::args().collect();
    let told = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
    let name = told("--target=").unwrap_or_default();
    let target = plugport_fuzz::target(name).unwrap_or_else(|| {
        eprintln!("no target is called `{name}`");
        std::process::exit(2);
    });
    TARGET.set(target).ok().expect("there is one target");
    if let Some(folder) = told("--unpack=") {
        unpack(target, Path::new(folder)).expect("the saved inputs can be unpacked");
    }
    if let Some(folder) = told("--print=") {
        print(Path::new(folder)).expect("the folder can be read");
        std::process::exit(0);
    }
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let line = INPUT.with_borrow(|input| saved::write(input));
        let name = target.name;
        eprintln!(
            "\nthis breaks the promise of `{name}`; it is a line for tests/fuzz/inputs/{name}.txt:\n{line}\n"
        );
        abort(panic);
    }));
}

/// Writes the saved inputs and the words to where libFuzzer looks for them.
fn unpack(target: &Target, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    for (number, input) in saved::inputs(target.name)?.iter().enumerate() {
        std::fs::write(folder.join(format!("saved-{number}")), input)?;
    }
    let words = target.words.iter().map(|word| format!("\"{}\"\n", escaped(word)));
    std::fs::write(folder.with_extension("words"), words.collect::<String>())?;
    Ok(())
}

/// Prints what is new in a folder as lines, short ones first.
fn print(folder: &Path) -> std::io::Result<()> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("saved-") {
            lines.push(saved::write(&std::fs::read(entry.path())?));
        }
    }
    lines.sort_by_key(|line| (line.len(), line.clone()));
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// As libFuzzer reads words: it knows `\\`, `\"` and `\xAB`.
fn escaped(word: &str) -> String {
    let byte = |byte: u8| match byte {
        b'\\' | b'"' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    word.bytes().map(byte).collect()
}
