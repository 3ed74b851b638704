//! The frontmatter of a `SKILL.md`: the part of YAML that authors write there, with bounds.
//!
//! Hosts compare what the server says about a skill with what their own parser of YAML reads in the file, field by
//! field. So a text is either read as every parser reads it, or rejected. Maps, lists of scalars, and texts in blocks
//! are read; anchors, aliases, tags, flow maps, several documents, and values over several lines without a block are
//! not. Nothing recurses deeper than [`MAX_DEPTH`].

mod block_text;
mod fault;
mod scalar;

use serde_json::{Map, Value};

use crate::observe::is_deceptive;
use fault::{Fault, MAX_BYTES, MAX_DEPTH, MAX_VALUES};
use scalar::{plain, scalar, value};

/// Longest key in bytes.
const MAX_KEY: usize = 128;

/// The line that begins and ends the frontmatter.
const FENCE: &str = "---";

/// Why a frontmatter is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub(super) struct FrontmatterError {
    line: usize,
    fault: Fault,
}

/// Reads the frontmatter of a `SKILL.md`.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, FrontmatterError> {
    let lines = lines(text)?;
    let mut parser = Parser { lines: &lines, at: 0, values: 0 };
    let map = parser.map(0, 1).and_then(|map| parser.next().map_or(Ok(map), |_| Err(Fault::Indent)));
    map.map_err(|fault| FrontmatterError { line: parser.at + 2, fault })
}

/// The lines between the fences.
fn lines(text: &str) -> Result<Vec<&str>, FrontmatterError> {
    let fault = |line, fault| FrontmatterError { line, fault };
    let mut all = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if all.next() != Some(FENCE) {
        return Err(fault(1, Fault::Fence));
    }
    let (mut lines, mut bytes) = (Vec::new(), 0_usize);
    for (at, line) in all.enumerate() {
        if line == FENCE {
            return Ok(lines);
        }
        bytes = bytes.saturating_add(line.len() + 1);
        if bytes > MAX_BYTES {
            return Err(fault(at + 2, Fault::Long));
        }
        // Some of these are ends of lines in YAML 1.1.
        if line.contains(is_deceptive) {
            return Err(fault(at + 2, Fault::Character));
        }
        lines.push(line);
    }
    Err(fault(1, Fault::Fence))
}

struct Parser<'t> {
    lines: &'t [&'t str],
    at: usize,
    values: usize,
}

impl<'t> Parser<'t> {
    /// The next line that says something: its indentation and its text.
    fn next(&mut self) -> Option<(usize, &'t str)> {
        loop {
            let line = *self.lines.get(self.at)?;
            let text = line.trim_start_matches(' ');
            if !text.is_empty() && !text.starts_with('#') {
                return Some((line.len() - text.len(), text.trim_end_matches(' ')));
            }
            self.at += 1;
        }
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.values += 1;
        if self.values > MAX_VALUES { Err(Fault::Many) } else { Ok(()) }
    }

    /// A map whose keys have this indentation.
    fn map(&mut self, indent: usize, depth: usize) -> Result<Map<String, Value>, Fault> {
        let mut map = Map::new();
        while let Some((found, text)) = self.next() {
            if found < indent {
                break;
            }
            if found > indent {
                return Err(Fault::Indent);
            }
            self.count()?;
            let (key, rest) = split_key(text)?;
            if map.contains_key(key) {
                return Err(Fault::Twice);
            }
            let value = match rest {
                "" => {
                    self.at += 1;
                    self.nested(indent, depth)?
                }
                header if header.starts_with(['|', '>']) => {
                    let below = self.lines.get(self.at + 1..).unwrap_or_default();
                    let (text, taken) = block_text::read(header, below, indent)?;
                    self.at += 1 + taken;
                    Value::String(text)
                }
                rest => {
                    let value = value(rest)?;
                    if let Value::Array(items) = &value {
                        items.iter().try_for_each(|_| self.count())?;
                    }
                    self.at += 1;
                    value
                }
            };
            map.insert(key.to_owned(), value);
        }
        Ok(map)
    }

    /// What stands below a key: a map, a list, or nothing.
    fn nested(&mut self, indent: usize, depth: usize) -> Result<Value, Fault> {
        match self.next() {
            Some((found, text)) if found >= indent && is_item(text) => self.list(found).map(Value::Array),
            Some((found, _)) if found > indent && depth < MAX_DEPTH => {
                self.map(found, depth + 1).map(Value::Object)
            }
            Some((found, _)) if found > indent => Err(Fault::Deep),
            _ => Ok(Value::Null),
        }
    }

    /// A list whose items have this indentation.
    fn list(&mut self, indent: usize) -> Result<Vec<Value>, Fault> {
        let mut items = Vec::new();
        while let Some((_, text)) = self.next().filter(|(found, text)| *found == indent && is_item(text)) {
            self.count()?;
            items.push(scalar(text.get(1..).unwrap_or_default().trim_start_matches(' '))?);
            self.at += 1;
        }
        Ok(items)
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// The key of a line, and what follows it.
fn split_key(text: &str) -> Result<(&str, &str), Fault> {
    let (key, rest) = match text.split_once(": ") {
        Some((key, rest)) => (key, rest.trim_start_matches(' ')),
        None => (text.strip_suffix(':').ok_or(Fault::Key)?, ""),
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if key.len() > MAX_KEY || !key.bytes().all(allowed) {
        return Err(Fault::Key);
    }
    // A key such as `on` or `1` is no text for every parser.
    match plain(key)? {
        Value::String(_) => Ok((key, rest)),
        _ => Err(Fault::Ambiguous),
    }
}

#[cfg(test)]
mod tests;
