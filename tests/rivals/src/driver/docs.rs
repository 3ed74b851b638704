//! Puts the tables and plots of a run into the documentation.

use std::path::Path;

use anyhow::{Context as _, Result};

pub const BEGIN: &str = "<!-- rivals: begin; `cargo measure rivals` writes what follows -->\n";
pub const END: &str = "<!-- rivals: end -->\n";

/// Replaces what is between the marks in `docs/performance.md`, and writes the plots beside it.
pub fn write(root: &Path, text: &str, plots: &[(String, String)]) -> Result<()> {
    let page = root.join("docs/performance.md");
    let before = std::fs::read_to_string(&page)?;
    let folder = root.join("docs/performance");
    std::fs::create_dir_all(&folder)?;
    let mut images = String::new();
    for (name, svg) in plots {
        std::fs::write(folder.join(name), svg)?;
        images += &format!("![{name}](performance/{name})\n");
    }
    let after =
        replaced(&before, &format!("\n{text}\n{images}\n")).context("docs/performance.md has no marks")?;
    Ok(std::fs::write(page, after)?)
}

fn replaced(page: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{text}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(replaced(&page, "new\n").unwrap(), format!("a\n{BEGIN}new\n{END}b\n"));
        assert!(replaced("a\n", "new\n").is_none());
    }

    #[test]
    fn the_page_has_the_marks() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
        assert!(replaced(&std::fs::read_to_string(page).unwrap(), "").is_some());
    }
}
