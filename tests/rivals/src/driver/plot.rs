//! Line plots as SVG, with both axes logarithmic: a figure against the number of connections, one line for each server.

use std::fmt::Write as _;

use super::case::{CONNECTIONS, Case, SMALL};
use super::results::{Figure, Results};
use super::rival::{RIVALS, Rival};
use crate::plan::Revision;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// One line: its name, its colour, and its points.
struct Line {
    name: &'static str,
    color: &'static str,
    points: Vec<(f64, f64)>,
}

/// The files of one run, with their names.
pub fn plots(results: &Results) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (revision, name) in [(Revision::Stateless, "stateless"), (Revision::Session, "session")] {
        let figures: [(&str, &str, Figure); 2] = [
            ("throughput", "calls per second", |report| report.per_second),
            ("p50", "p50, µs", |report| report.p50_us),
        ];
        for (file, title, figure) in figures {
            let lines: Vec<Line> =
                RIVALS.into_iter().filter_map(|rival| line(results, revision, rival, figure)).collect();
            let title = format!("{title}, echo of 32 bytes, {}", revision.name());
            if let Some(text) = plot(&title, &lines) {
                files.push((format!("{file}-{name}.svg"), text));
            }
        }
    }
    files
}

fn line(results: &Results, revision: Revision, rival: Rival, figure: Figure) -> Option<Line> {
    let point = |connections: usize| {
        let value = results.figure(Case::http(SMALL, revision, connections), rival, figure)?;
        Some((connections as f64, value))
    };
    let points: Vec<_> = CONNECTIONS.into_iter().filter_map(point).collect();
    (!points.is_empty()).then(|| Line { name: rival.title(), color: color(rival), points })
}

fn color(rival: Rival) -> &'static str {
    match rival {
        Rival::Bare => "#888888",
        Rival::Rmcp => "#d95f02",
        Rival::Fresh => "#1b6ec2",
        Rival::Reused => "#66b2ff",
        Rival::FastMcp => "#1b9e77",
        Rival::TypeScript => "#7570b3",
        Rival::Act => "#e7298a",
        Rival::Wassette => "#a6761d",
        Rival::HyperMcp => "#e6ab02",
    }
}

/// A logarithmic axis from a value to a place in the picture.
struct Axis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let part = (value / self.from).ln() / (self.to / self.from).ln();
        self.begin + part * (self.end - self.begin)
    }
}

/// Nothing without a point.
fn plot(title: &str, lines: &[Line]) -> Option<String> {
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    // Whole powers of ten around all values.
    let (low, high) = (least.log10().floor(), (most * 1.001).log10().ceil());
    let across = Axis { from: 1.0, to: 512.0, begin: LEFT, end: WIDTH - RIGHT };
    let up = Axis { from: 10_f64.powf(low), to: 10_f64.powf(high), begin: HEIGHT - BOTTOM, end: TOP };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{title}</text>\n"
    );
    grid(&mut svg, &across, &up, low as i32..=high as i32);
    for (at, line) in lines.iter().enumerate() {
        draw(&mut svg, line, &across, &up, TOP + 12.0 + 18.0 * at as f64);
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

fn grid(svg: &mut String, across: &Axis, up: &Axis, powers: std::ops::RangeInclusive<i32>) {
    for power in powers {
        let value = 10_f64.powi(power);
        let (y, x) = (up.place(value), LEFT - 8.0);
        writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            across.end,
            y + 4.0
        )
        .unwrap();
    }
    for connections in CONNECTIONS {
        let (x, y) = (across.place(connections as f64), up.begin + 16.0);
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{connections}</text>").unwrap();
    }
    let (x, y) = (across.begin.midpoint(across.end), HEIGHT - 8.0);
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">connections</text>").unwrap();
}

fn draw(svg: &mut String, line: &Line, across: &Axis, up: &Axis, legend: f64) {
    let Line { name, color, points } = line;
    let places: Vec<_> = points.iter().map(|(x, y)| (across.place(*x), up.place(*y))).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let path = path.join(" ");
    writeln!(svg, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>")
        .unwrap();
    for (x, y) in places {
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>").unwrap();
    }
    let (x, text) = (WIDTH - RIGHT + 14.0, WIDTH - RIGHT + 30.0);
    writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{color}\"/>\
         <text x=\"{text}\" y=\"{legend:.1}\">{name}</text>",
        legend - 9.0
    )
    .unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Report;

    #[test]
    fn a_power_of_ten_lies_on_its_line() {
        let axis = Axis { from: 10.0, to: 1_000.0, begin: 300.0, end: 100.0 };
        assert_eq!([10.0, 100.0, 1_000.0].map(|value| axis.place(value).round()), [300.0, 200.0, 100.0]);
    }

    #[test]
    fn each_server_has_a_line() {
        let mut results = Results::default();
        for connections in CONNECTIONS {
            let report =
                Report { per_second: 1_000.0 * connections as f64, p50_us: 50.0, ..Report::default() };
            results.add(Case::http(SMALL, Revision::Session, connections), Rival::Fresh, report);
        }
        let files = plots(&results);
        assert_eq!(
            files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["throughput-session.svg", "p50-session.svg"]
        );
        assert!(files.iter().all(|(_, text)| text.matches("<polyline").count() == 1), "{files:?}");
    }
}
