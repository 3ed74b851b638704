//! Converts a doc comment into a description.
//!
//! Authors wrap their lines where the editor ends; readers elsewhere should not see that. So the lines of a paragraph
//! are joined, and everything that Markdown gives a line of its own (lists, headings, tables, quotes, code) keeps it.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The description that these attributes hold, if any.
///
/// # Errors
/// When a macro makes the comment.
pub(crate) fn description(attributes: &[Attribute]) -> syn::Result<Option<String>> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
        {
            lines.push(literal(&pair.value)?);
        }
    }
    let text = lines.join("\n");
    let lines: Vec<&str> = text.lines().collect();
    let description = join(&unindent(&lines));
    Ok((!description.is_empty()).then_some(description))
}

/// Whether this attribute is a part of a description.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn literal(value: &Expr) -> syn::Result<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        other => Err(syn::Error::new_spanned(
            other,
            "write the description out; what a macro makes is not known yet when the tool is described",
        )),
    }
}

/// Removes the space after `///`, and the margin of a block comment.
fn unindent<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    lines.iter().map(|line| line.get(margin..).unwrap_or("").trim_end()).collect()
}

fn join(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut fenced = false;
    // Whether the next line may be joined to the text so far.
    let mut open = false;
    for line in lines {
        let fence = line.trim_start().starts_with("```");
        let own = fenced || fence || starts_block(line);
        if !text.is_empty() {
            text.push(if open && !own && !line.is_empty() { ' ' } else { '\n' });
        }
        text.push_str(if open && !own { line.trim_start() } else { line });
        fenced ^= fence;
        open = !line.is_empty() && !fenced && !fence && !is_single_line(line);
    }
    text.trim_matches('\n').to_owned()
}

/// Whether a Markdown block begins here.
fn starts_block(line: &str) -> bool {
    let text = line.trim_start();
    let ordered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let bullet = ["- ", "* ", "+ ", ">"].iter().any(|mark| text.starts_with(mark));
    let numbered = ordered.len() < text.len() && (ordered.starts_with(". ") || ordered.starts_with(") "));
    bullet || numbered || is_single_line(line)
}

/// Whether the block that begins here also ends here.
fn is_single_line(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with('#') || text.starts_with('|') || line.starts_with("    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn of(text: &str) -> String {
        let attribute: Attribute = parse_quote!(#[doc = #text]);
        description(&[attribute]).unwrap().unwrap_or_default()
    }

    #[test]
    fn lines_of_a_paragraph_are_joined_and_paragraphs_kept() {
        assert_eq!(of(" One\n two.\n\n Three\n four.\n"), "One two.\n\nThree four.");
    }

    #[test]
    fn what_stands_on_lines_of_its_own_stays_there() {
        let list = " Either:\n - this,\n   or so;\n 2. that.\n\n # Notes\n Text.";
        assert_eq!(of(list), "Either:\n- this, or so;\n2. that.\n\n# Notes\nText.");
        let code = " See:\n ```\n let a = 1;\n   b\n ```\n Done\n here.";
        assert_eq!(of(code), "See:\n```\nlet a = 1;\n  b\n```\nDone here.");
        assert_eq!(of(" | a | b |\n | - | - |"), "| a | b |\n| - | - |");
    }

    #[test]
    fn comments_line_by_line_are_one_text() {
        let attributes: [Attribute; 3] =
            [parse_quote!(#[doc = " One"]), parse_quote!(#[inline]), parse_quote!(#[doc = " two."])];
        assert_eq!(description(&attributes).unwrap().as_deref(), Some("One two."));
    }

    #[test]
    fn nothing_is_no_description() {
        assert_eq!(description(&[]).unwrap(), None);
        assert_eq!(of("  \n "), "");
    }
}
