//! RFC 6570 read forwards: the URI that a template makes of plain values. Validation reads templates backwards,
//! and must recognise every URI that is made here.

/// The URI that `template` makes when each variable has a value; `None` where braces do not pair.
pub(crate) fn expand(template: &str, value: &str) -> Option<String> {
    let mut uri = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        uri.push_str(&rest[..at]);
        let (expression, tail) = rest[at..].strip_prefix('{')?.split_once('}')?;
        uri.push_str(&expression_of(expression, value));
        rest = tail;
    }
    uri.push_str(rest);
    Some(uri)
}

/// The first characters of a value, where `%20` is one (RFC 6570, 2.4.1).
fn prefix(value: &str, length: usize) -> &str {
    let mut rest = value;
    for _ in 0..length {
        let next = rest.strip_prefix('%').and_then(|encoded| encoded.get(2..));
        rest = next.unwrap_or_else(|| {
            let mut characters = rest.chars();
            characters.next();
            characters.as_str()
        });
        if rest.is_empty() {
            break;
        }
    }
    value.strip_suffix(rest).unwrap_or(value)
}

fn expression_of(expression: &str, value: &str) -> String {
    let (operator, variables) = match expression.split_at_checked(1) {
        Some((operator @ ("+" | "#" | "." | "/" | ";" | "?" | "&"), variables)) => (operator, variables),
        _ => ("", expression),
    };
    let (first, between, named) = match operator {
        "#" => ("#", ",", false),
        "." => (".", ".", false),
        "/" => ("/", "/", false),
        ";" => (";", ";", true),
        "?" => ("?", "&", true),
        "&" => ("&", "&", true),
        _ => ("", ",", false),
    };
    let mut seen = Vec::new();
    let mut parts = Vec::new();
    for variable in variables.split(',') {
        let variable = variable.trim_end_matches('*');
        let (name, length) = variable.split_once(':').unwrap_or((variable, ""));
        // A variable that is named twice in a query is a mistake of the template; a name once is enough.
        if named && seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let length = length.parse().unwrap_or(usize::MAX);
        let value = prefix(value, length.max(1));
        parts.push(if named { format!("{name}={value}") } else { value.to_owned() });
    }
    format!("{first}{}", parts.join(between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_come_out() {
        for (template, uri) in [
            ("n:{x}/{y,z}", "n:v1/v1,v1"),
            ("n:{+x}{#x}", "n:v1#v1"),
            ("n:{x:1}{.x*}{/x,y}", "n:v.v1/v1/v1"),
            ("n:{;x}{?x,y}{&z}", "n:;x=v1?x=v1&y=v1&z=v1"),
        ] {
            assert_eq!(expand(template, "v1").as_deref(), Some(uri));
        }
        assert_eq!(expand("n:}{", "v"), None);
    }
}
