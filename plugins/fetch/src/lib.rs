//! Web pages for a model to read. The host sends requests only where the operator granted that; redirects are followed
//! here, each as a request of its own. Answers are bounded and say where to go on.

mod page;
mod web;

use plugport_sdk::prelude::*;

use page::Page;
use web::FetchError;

/// Read a web page as Markdown, or a text, JSON or XML document as it is. Long ones come in pieces.
#[tool(read_only, open_world)]
fn fetch(
    /// An address that begins with https:// or http://.
    url: String,
    /// Where to begin, in characters: what an earlier piece named.
    #[arg(default = 0)]
    start_index: u32,
    /// The longest piece, in characters: at most 100000.
    #[arg(default = 20_000)]
    max_length: u32,
    /// Whether to give the document as it is, without making Markdown of it.
    #[arg(default = false)]
    raw: bool,
) -> Result<Vec<Content>, FetchError> {
    let page = Page::of(web::load(&url)?, raw)?;
    page.piece(start_index as usize, max_length as usize)
}

plugport_sdk::export! { tools: [fetch] }

#[cfg(test)]
mod tests;
