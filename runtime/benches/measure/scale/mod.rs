//! Measures how far one server scales: 1,000 plugins with 6,000 tools, and for its clients 10,000 sessions, 10,000
//! event streams and 10,000 suspended calls at the same time.
//!
//! The real program serves. The benchmark prints each figure beside its aim and writes the plots to
//! `docs/performance/`. It fails when an aim is missed. It compiles 1,000 plugins first, which takes a minute or two.

mod call_costs;
mod figures;
mod homes;
mod listeners;
mod many_clients;
mod process;
mod requests;
mod starts;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use figures::Figures;
use homes::Homes;

use crate::support::svg;

/// The numbers of plugins that are compared.
const SIZES: [usize; 4] = [1, 10, 100, 1_000];

/// How long a server rests before its memory or its processor time is measured: longer than between two times that it
/// gives free memory back, and than its idle threads live.
const SETTLE: Duration = Duration::from_secs(6);

pub fn run() -> ExitCode {
    let files = process::allow_open_files();
    // The output of the servers is read while the main task blocks.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let missed = runtime.block_on(async {
        let mut figures = Figures::default();
        let homes = Homes::prepare().await;
        let starts = starts::measure(&homes, &mut figures).await;
        let [same, in_turn] = call_costs::measure(&homes, &mut figures).await;
        many_clients::measure(&homes, files, &mut figures).await;
        plot(
            "scale-start.svg",
            "Start until the complete list, cached code",
            "ms",
            &[("the median of five starts", &starts)],
        );
        plot(
            "scale-calls.svg",
            "Processor time of one tools/call",
            "µs",
            &[("of one plugin", &same), ("of all plugins in turn", &in_turn)],
        );
        figures.missed()
    });
    if missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\naims that are not met:\n  {}", missed.join("\n  "));
    ExitCode::FAILURE
}

/// Writes a plot over the number of plugins.
fn plot(file: &str, title: &str, unit: &str, lines: &[(&str, &Vec<(f64, f64)>)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance");
    std::fs::create_dir_all(&folder).unwrap();
    let lines: Vec<_> = lines.iter().map(|(name, points)| svg::Line { name, points }).collect();
    std::fs::write(folder.join(file), svg::line_chart(title, "plugins", unit, &lines)).unwrap();
}

/// The element in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
