//! Measures what a language costs: the same tool from each template, built, compiled and called.
//!
//! `cargo measure languages` prepares the toolchains and runs this. It makes each project as an author would, with
//! `plugport new` and `plugport build`, prints one table and writes it into `docs/languages.md`. The row of a language
//! that cannot be built on this machine is empty. The figures are of a shared machine: compare rows of one run.

mod dev;
mod fresh_caches;
mod project;
mod serving;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dev::DevTimes;
use fresh_caches::FreshCaches;
use project::Project;
use serving::{Instances, Memory, call_us, compile_seconds, instance_us};

/// The page with the table, and the marks around the table.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/languages.md");
const BEGIN: &str = "<!-- measured by `cargo measure languages` -->";
const END: &str = "<!-- end of what was measured -->";

const LANGUAGES: [&str; 8] = ["rust", "typescript", "javascript", "python", "go", "c", "cpp", "zig"];

const HEAD: &str = "\
| language | lines | build | rebuild | dev | error | KiB | compile | instance | unpooled | call, fresh | call, reused |
|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Numbers in a row.
const CELLS: usize = 11;

/// A row of the table.
struct Row {
    lines: usize,
    first_s: f64,
    again_s: f64,
    dev: DevTimes,
    kib: u64,
    compile_s: f64,
    instance_us: f64,
    unpooled_us: f64,
    fresh_us: f64,
    /// `None` if the language's instances cannot be reused.
    reused_us: Option<f64>,
}

pub fn run() {
    let home = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/languages/measured"));
    let caches = FreshCaches::new();
    let mut table = String::from(HEAD);
    println!("{HEAD}");
    for language in LANGUAGES {
        let line = match measure(&home, &caches, language) {
            Ok(row) => row.line(language),
            Err(why) => {
                println!("{language} was not measured: {why}");
                format!("| {language} |{}", " |".repeat(CELLS))
            }
        };
        println!("{line}");
        write!(table, "\n{line}").unwrap();
    }
    write_page(&table);
}

fn measure(home: &Path, caches: &FreshCaches, language: &str) -> Result<Row, String> {
    let project = Project::new(home, caches, language)?;
    let lines = project.lines();
    let first_s = project.build()?;
    project.change();
    let again_s = project.build()?;
    let component = project.component();
    Ok(Row {
        lines,
        first_s,
        again_s,
        kib: component.metadata().unwrap().len().div_ceil(1024),
        compile_s: compile_seconds(&component)?,
        instance_us: instance_us(&component, Memory::Pooled)?,
        unpooled_us: instance_us(&component, Memory::Unpooled)?,
        fresh_us: call_us(&component, Instances::Fresh)?,
        reused_us: call_us(&component, Instances::Reused).inspect_err(|why| println!("reused: {why}")).ok(),
        // The last, since it changes the source.
        dev: dev::dev_times(&project, caches)?,
    })
}

impl Row {
    fn line(&self, language: &str) -> String {
        let Self { lines, first_s, again_s, dev, kib, compile_s, .. } = self;
        let DevTimes { change_s, error_s } = dev;
        let Self { instance_us, unpooled_us, fresh_us, reused_us, .. } = self;
        let developed = format!("{first_s:.1} | {again_s:.1} | {change_s:.1} | {error_s:.1}");
        let built = format!("{lines} | {developed} | {kib} | {compile_s:.1}");
        let reused = reused_us.map_or_else(String::new, |us| format!("{us:.0}"));
        format!("| {language} | {built} | {instance_us:.0} | {unpooled_us:.0} | {fresh_us:.0} | {reused} |")
    }
}

/// Replaces the table in the page; the other text stays.
fn write_page(table: &str) {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page says where the table begins");
    let (_, after) = rest.split_once(END).expect("the page says where the table ends");
    std::fs::write(PAGE, format!("{before}{BEGIN}\n\n{table}\n\n{END}{after}")).unwrap();
}
