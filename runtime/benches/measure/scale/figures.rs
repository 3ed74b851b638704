//! Prints figures beside their aims, and collects those that miss theirs.

#[derive(Default)]
pub struct Figures {
    missed: Vec<String>,
}

impl Figures {
    /// The heading of a group.
    pub fn heading(&self, text: &str) {
        println!("\n{text}");
    }

    /// A figure without an aim.
    pub fn plain(&self, what: &str, value: f64, unit: &str) {
        println!("  {what:<72}{value:>12.2} {unit}");
    }

    /// A figure that should be at most `aim`.
    pub fn aimed(&mut self, what: &str, value: f64, unit: &str, aim: f64) {
        println!("  {what:<72}{value:>12.2} {unit:<6} (aim: at most {aim})");
        if value > aim {
            self.missed.push(format!("{what}: {value:.2} {unit}, and may be {aim}"));
        }
    }

    /// The aims that were missed.
    pub fn missed(self) -> Vec<String> {
        self.missed
    }
}
