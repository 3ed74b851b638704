//! Makes a document into text for a model, and cuts it into pieces.

use encoding_rs::{Encoding, UTF_8};
use htmd::{HtmlToMarkdown, Node};
use mime::Mime;
use plugport_sdk::Content;
use url::Url;

use std::rc::Rc;

use crate::web::{Document, FetchError, MAX_DOCUMENT};

/// Longest piece, characters.
const LONGEST: usize = 100_000;

/// Elements inside each other. Making Markdown of them is recursive, and the stack of a plugin is small.
const DEEPEST: usize = 256;

/// What is looked at to learn what a document is, bytes.
const BEGINNING: usize = 1_024;

/// What no reader of a page sees.
const UNSEEN: &[&str] =
    &["script", "style", "noscript", "template", "iframe", "object", "svg", "canvas", "head", "dialog"];

/// A document as text.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    /// Whether only its beginning was read.
    truncated: bool,
}

enum Kind {
    Html,
    Text,
}

impl Page {
    pub(crate) fn of(document: Document, raw: bool) -> Result<Self, FetchError> {
        let Document { url, answer } = document;
        let said = answer.header("content-type").and_then(|kind| kind.parse::<Mime>().ok());
        let kind = kind(said.as_ref(), &answer.body)
            .ok_or_else(|| FetchError::NotText(url.clone(), named(said.as_ref())))?;
        let text = decoded(said.as_ref(), &answer.body);
        let text = match kind {
            Kind::Html if !raw => markdown(&text, url)?,
            _ => text,
        };
        Ok(Self { text, truncated: answer.truncated })
    }

    /// The characters from `start`, and a note where to go on.
    pub(crate) fn piece(&self, start: usize, length: usize) -> Result<Vec<Content>, FetchError> {
        let total = self.text.chars().count();
        if start > 0 && start >= total {
            return Err(FetchError::Start(total));
        }
        let length = length.clamp(1, LONGEST);
        let piece: String = self.text.chars().skip(start).take(length).collect();
        let end = (start + length).min(total);
        let mut content = vec![Content::text(piece)];
        if end < total {
            let note = format!("[characters {start} to {end} of {total}; continue at start_index {end}]");
            content.push(Content::text(note));
        } else if self.truncated {
            content.push(Content::text(format!(
                "[only the first {} KiB of the document were read]",
                MAX_DOCUMENT >> 10
            )));
        }
        Ok(content)
    }
}

/// What a document is by what it says, or by how it begins when it says nothing.
fn kind(said: Option<&Mime>, body: &[u8]) -> Option<Kind> {
    let Some(said) = said else {
        let begin = body.get(..BEGINNING).unwrap_or(body);
        let text = !begin.contains(&0);
        let html = begin.trim_ascii_start().first() == Some(&b'<');
        return text.then_some(if html { Kind::Html } else { Kind::Text });
    };
    let suffix = said.suffix().map(|suffix| suffix.as_str());
    match (said.type_().as_str(), said.subtype().as_str()) {
        ("text", "html") => Some(Kind::Html),
        ("application", "xhtml") => Some(Kind::Html),
        ("text", _) | ("application", "json" | "xml" | "javascript" | "yaml" | "toml") => Some(Kind::Text),
        ("application", _) if matches!(suffix, Some("json" | "xml" | "yaml")) => Some(Kind::Text),
        _ => None,
    }
}

fn named(said: Option<&Mime>) -> String {
    said.map_or("no text".to_owned(), |said| said.essence_str().to_owned())
}

/// The text, in the encoding that it says it has.
fn decoded(said: Option<&Mime>, body: &[u8]) -> String {
    let charset = said.and_then(|said| said.get_param("charset")).map(|charset| charset.as_str().as_bytes());
    let encoding = charset.or_else(|| declared(body)).and_then(Encoding::for_label).unwrap_or(UTF_8);
    encoding.decode(body).0.into_owned()
}

/// The label that a page has in a `meta` element at its beginning.
fn declared(body: &[u8]) -> Option<&[u8]> {
    let begin = body.get(..BEGINNING).unwrap_or(body);
    let at = begin.windows(8).position(|word| word.eq_ignore_ascii_case(b"charset="))?;
    let label = begin.get(at + 8..)?.trim_ascii_start();
    let label = label.strip_prefix(b"\"").or(label.strip_prefix(b"'")).unwrap_or(label);
    let end = label.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte))?;
    label.get(..end)
}

fn markdown(html: &str, url: Url) -> Result<String, FetchError> {
    // The parser has a line for every token, which would cost more than the parsing.
    log::set_max_level(log::LevelFilter::Warn);
    let converter = HtmlToMarkdown::builder().skip_tags(UNSEEN.to_vec()).build();
    // It reads from memory, which does not fail.
    let tree = converter.html_to_tree(html).map_err(|_| FetchError::Deep(url.clone()))?;
    if is_deep(&tree) {
        return Err(FetchError::Deep(url));
    }
    Ok(converter.tree_to_markdown(&tree))
}

fn is_deep(tree: &Rc<Node>) -> bool {
    let mut pending = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = pending.pop() {
        if depth > DEEPEST {
            return true;
        }
        pending.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    false
}
