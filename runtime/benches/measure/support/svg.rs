//! A line chart as SVG, whose x axis grows by powers of ten.

use std::fmt::Write as _;

/// One line of a chart: its name and its points, from left to right.
pub struct Line<'a> {
    pub name: &'a str,
    pub points: &'a [(f64, f64)],
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const COLORS: [&str; 4] = ["#1f6feb", "#d1570a", "#2e7d32", "#8250df"];

/// A chart with this title and these names of its axes. The y axis begins at zero. All x are at least 1.
pub fn line_chart(title: &str, x_axis: &str, y_axis: &str, lines: &[Line<'_>]) -> String {
    let points = || lines.iter().flat_map(|line| line.points);
    let decades = points().map(|(x, _)| x.log10()).fold(1.0, f64::max).ceil();
    let step = step(points().map(|(_, y)| *y).fold(1e-9, f64::max));
    let steps = (points().map(|(_, y)| *y).fold(0.0, f64::max) / step).ceil().max(1.0);
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let x_of = |x: f64| LEFT + x.log10() / decades * (right - LEFT);
    let y_of = |y: f64| bottom - y / (step * steps) * (bottom - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, more: &str, text: &str| {
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>")
            .unwrap();
    };
    text(LEFT, 22.0, "start", "font-size=\"15\" font-weight=\"bold\"", title);
    text((LEFT + right) / 2.0, HEIGHT - 10.0, "middle", "", x_axis);
    text(8.0, TOP - 14.0, "start", "", y_axis);
    for at in 0..=steps as usize {
        let value = step * at as f64;
        text(LEFT - 8.0, y_of(value) + 4.0, "end", "", &number(value));
    }
    for at in 0..=decades as i32 {
        let value = 10_f64.powi(at);
        text(x_of(value), bottom + 18.0, "middle", "", &number(value));
    }
    for (at, line) in lines.iter().enumerate() {
        let more = format!("fill=\"{}\"", COLORS[at % COLORS.len()]);
        text(right, 22.0 + 16.0 * at as f64, "end", &more, line.name);
    }
    for at in 0..=steps as usize {
        let y = y_of(step * at as f64);
        writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>").unwrap();
    }
    for (at, line) in lines.iter().enumerate() {
        let color = COLORS[at % COLORS.len()];
        let path: Vec<String> =
            line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y))).collect();
        let path = path.join(" ");
        writeln!(svg, "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>")
            .unwrap();
        for (x, y) in line.points {
            let (x, y, shown) = (x_of(*x), y_of(*y), number(*y));
            writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"><title>{shown}</title></circle>"
            )
            .unwrap();
        }
    }
    svg + "</svg>\n"
}

/// The distance of two lines of the grid, which has at most some ten.
fn step(max: f64) -> f64 {
    let decade = 10_f64.powf(max.log10().floor());
    [0.1, 0.2, 0.5, 1.0]
        .map(|part| part * decade)
        .into_iter()
        .find(|step| max / step <= 10.0)
        .unwrap_or(decade)
}

/// A number with as many digits as it needs.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
