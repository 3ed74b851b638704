//! URI templates (RFC 6570), read backwards: does a URI come from a template?
//!
//! A template becomes a row of tokens. Matching keeps the set of places in the URI that a prefix of the row can reach, and
//! moves the whole set over one token at a time, so there is nothing to try again and the time is bounded by the length of
//! the URI times the length of the template. Variables of a path have at least one character, those of a query, of
//! parameters and of a fragment may be left out, and prefix lengths are not held against a URI.

/// Most expressions in one template.
const EXPRESSIONS: usize = 32;

/// A template that can be compared with URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UriTemplate {
    tokens: Vec<Token>,
    /// Longer URIs never match, bytes.
    longest: usize,
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UriTemplateError {
    /// Braces that do not pair.
    #[error("a brace has no partner; write a variable as `{{name}}`")]
    Brace,
    /// A character that no URI has.
    #[error("the character {} cannot stand in a URI; percent-encode it", .0.escape_unicode())]
    Character(char),
    /// An operator that RFC 6570 keeps for later.
    #[error("the operator `{0}` is not defined; use none, or one of + # . / ; ? &")]
    Operator(char),
    /// A name that is empty or has other characters than a name may.
    #[error("a variable's name is not valid; use letters, digits and `_`")]
    Variable,
    /// Nothing says which URIs it is about.
    #[error("it does not begin with a scheme, such as `notes:`")]
    Scheme,
    /// Beyond [`EXPRESSIONS`].
    #[error("it has more than {EXPRESSIONS} expressions, or variables in one of them")]
    TooMany,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// These bytes.
    Literal(Vec<u8>),
    /// One or more characters of a kind.
    Run(CharClass),
    /// `#` and anything, or nothing.
    Fragment,
    /// Pairs of names and values, or nothing.
    Pairs { first: u8, between: u8, names: PairNames },
}

/// Characters that a value can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// What is left of a value when everything else is percent-encoded, and what clients often leave as it is.
    Plain,
    /// One segment of a path.
    Segment,
    /// The same, and what separates several of them.
    PlainOr(u8),
    /// Whatever a URI can have.
    Any,
}

/// Names that a pair may have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PairNames {
    Any,
    These(Vec<Vec<u8>>),
}

impl CharClass {
    fn has(self, byte: u8) -> bool {
        let plain = byte.is_ascii_alphanumeric() || b"-._~%!'()*:@".contains(&byte) || !byte.is_ascii();
        match self {
            Self::Plain => plain,
            Self::Segment => !b"/?#".contains(&byte),
            Self::PlainOr(other) => plain || byte == other,
            Self::Any => true,
        }
    }
}

impl UriTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str, longest: usize) -> Result<Self, UriTemplateError> {
        let mut tokens = Vec::new();
        let mut expressions = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (literal, tail) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
            if let Some(character) = literal.chars().find(|character| !in_uri(*character)) {
                return Err(UriTemplateError::Character(character));
            }
            if !literal.is_empty() {
                tokens.push(Token::Literal(literal.as_bytes().to_vec()));
            }
            rest = tail;
            if !tail.is_empty() {
                let inner = tail.strip_prefix('{').ok_or(UriTemplateError::Brace)?;
                let (expression, after) = inner.split_once('}').ok_or(UriTemplateError::Brace)?;
                expressions += 1;
                if expressions > EXPRESSIONS {
                    return Err(UriTemplateError::TooMany);
                }
                parse_expression(expression, &mut tokens)?;
                rest = after;
            }
        }
        match tokens.first() {
            Some(Token::Literal(literal)) if super::uri::scheme(literal).is_some() => {
                Ok(Self { tokens, longest })
            }
            _ => Err(UriTemplateError::Scheme),
        }
    }

    /// Whether a URI can come from it.
    pub(super) fn matches(&self, uri: &str) -> bool {
        let uri = uri.as_bytes();
        let begins = matches!(self.tokens.first(), Some(Token::Literal(literal)) if uri.starts_with(literal));
        if uri.len() > self.longest || !begins {
            return false;
        }
        let mut reached = vec![false; uri.len() + 1];
        if let Some(start) = reached.first_mut() {
            *start = true;
        }
        for token in &self.tokens {
            reached = token.advance(uri, &reached);
        }
        reached.last() == Some(&true)
    }
}

impl Token {
    /// The places that can be reached from the places reached so far.
    fn advance(&self, uri: &[u8], from: &[bool]) -> Vec<bool> {
        let mut to = vec![false; from.len()];
        let starts = || from.iter().enumerate().filter(|(_, reached)| **reached).map(|(at, _)| at);
        let rest = |at: usize| uri.get(at..).unwrap_or_default();
        match self {
            Self::Literal(literal) => {
                starts()
                    .filter(|at| rest(*at).starts_with(literal))
                    .for_each(|at| set(&mut to, at + literal.len()));
            }
            Self::Run(kind) => run(*kind, uri, from, &mut to),
            Self::Fragment => {
                to.copy_from_slice(from);
                let first = starts().find(|at| rest(*at).starts_with(b"#"));
                to.iter_mut().skip(first.map_or(usize::MAX, |at| at + 1)).for_each(|place| *place = true);
            }
            Self::Pairs { first, between, names } => {
                to.copy_from_slice(from);
                let mut walked = vec![false; from.len()];
                for start in starts().filter(|at| rest(*at).first() == Some(first)) {
                    names.walk(uri, start, *between, &mut walked, |at| set(&mut to, at));
                }
            }
        }
        to
    }
}

/// From every place that was reached, over one or more characters of a kind.
fn run(kind: CharClass, uri: &[u8], from: &[bool], to: &mut [bool]) {
    let mut open = false;
    for (at, byte) in uri.iter().enumerate() {
        open = (open || from.get(at) == Some(&true)) && kind.has(*byte);
        if open {
            set(to, at + 1);
        }
    }
}

impl PairNames {
    /// Reads pairs from `at` on, each name once, and tells of every place where they may end. Where any name will do, no
    /// place is `walked` from twice: what follows would be the same.
    fn walk(&self, text: &[u8], mut at: usize, between: u8, walked: &mut [bool], mut end: impl FnMut(usize)) {
        let mut used: Vec<&[u8]> = Vec::new();
        loop {
            match (self, walked.get_mut(at)) {
                (Self::Any, Some(true) | None) => return,
                (Self::Any, Some(place)) => *place = true,
                (Self::These(_), _) => {}
            }
            // The byte that opens a pair.
            at += 1;
            let rest = text.get(at..).unwrap_or_default();
            let length = rest.iter().take_while(|byte| CharClass::Plain.has(**byte)).count();
            let name = rest.get(..length).unwrap_or_default();
            if name.is_empty() || !self.allow(name, &used) {
                return;
            }
            if matches!(self, Self::These(_)) {
                used.push(name);
            }
            at += length;
            end(at);
            if text.get(at) == Some(&b'=') {
                let value = text.get(at + 1..).unwrap_or_default();
                let value = value.iter().take_while(|byte| CharClass::PlainOr(b',').has(**byte)).count();
                (1..=value + 1).for_each(|length| end(at + length));
                at += value + 1;
            }
            if text.get(at) != Some(&between) || used.len() > EXPRESSIONS {
                return;
            }
        }
    }

    fn allow(&self, name: &[u8], used: &[&[u8]]) -> bool {
        match self {
            Self::Any => true,
            Self::These(names) => !used.contains(&name) && names.iter().any(|known| known == name),
        }
    }
}

fn set(places: &mut [bool], at: usize) {
    if let Some(place) = places.get_mut(at) {
        *place = true;
    }
}

fn parse_expression(expression: &str, tokens: &mut Vec<Token>) -> Result<(), UriTemplateError> {
    let operator =
        expression.chars().next().filter(|first| !first.is_ascii_alphanumeric() && !"_%".contains(*first));
    let list =
        operator.map_or(expression, |operator| expression.get(operator.len_utf8()..).unwrap_or_default());
    let variables = list.split(',').map(variable).collect::<Result<Vec<_>, _>>()?;
    if variables.len() > EXPRESSIONS {
        return Err(UriTemplateError::TooMany);
    }
    let names = || match variables.iter().any(|variable| variable.explode) {
        true => PairNames::Any,
        false => {
            PairNames::These(variables.iter().map(|variable| variable.name.as_bytes().to_vec()).collect())
        }
    };
    match operator {
        None => tokens.push(Token::Run(CharClass::Segment)),
        Some('+') => tokens.push(Token::Run(CharClass::Any)),
        Some('#') => tokens.push(Token::Fragment),
        Some(separator @ ('.' | '/')) => {
            for variable in &variables {
                tokens.push(Token::Literal(separator.to_string().into_bytes()));
                let kind = match (variable.explode, separator) {
                    (true, '/') => CharClass::PlainOr(b'/'),
                    _ => CharClass::Segment,
                };
                tokens.push(Token::Run(kind));
            }
        }
        Some(';') => tokens.push(Token::Pairs { first: b';', between: b';', names: names() }),
        Some(first @ ('?' | '&')) => {
            tokens.push(Token::Pairs { first: first as u8, between: b'&', names: names() });
        }
        Some(other) => return Err(UriTemplateError::Operator(other)),
    }
    Ok(())
}

struct Variable<'a> {
    name: &'a str,
    explode: bool,
}

fn variable(text: &str) -> Result<Variable<'_>, UriTemplateError> {
    let (name, explode) = text.strip_suffix('*').map_or((text, false), |name| (name, true));
    let name = match name.split_once(':') {
        Some((name, length)) if !explode && length.parse::<u16>().is_ok_and(|length| length < 10_000) => name,
        Some(_) => return Err(UriTemplateError::Variable),
        None => name,
    };
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%');
    if name.is_empty() || !name.chars().all(valid) {
        return Err(UriTemplateError::Variable);
    }
    Ok(Variable { name, explode })
}

/// Whether a character may stand in a URI.
fn in_uri(character: char) -> bool {
    u8::try_from(character).is_ok_and(super::uri::allows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(template: &str, uri: &str) -> bool {
        UriTemplate::parse(template, 2_048).unwrap().matches(uri)
    }

    #[test]
    fn expansions_of_a_template_match_it() {
        for (template, uri) in [
            ("n:{x}/data", "n:O'Neil(b)!*@c:d,e;f=g/data"),
            ("n:x{?q}", "n:x?q=(a)*!:@"),
            ("n:x{;a*}{;b*}", "n:x;a=1;b;c=2;d"),
            ("note://all", "note://all"),
            ("test://template/{id}/data", "test://template/123/data"),
            ("n:{x}", "n:caf%C3%A9"),
            ("n:{x,y}", "n:1,2"),
            ("n:{+path}", "n:a/b?c#d"),
            ("n:{+path}/here", "n:a/here/b/here"),
            ("n:x{#frag}", "n:x#a/b"),
            ("n:x{#frag}", "n:x"),
            ("n:x{.ext}", "n:x.tar.gz"),
            ("n:{/a,b}", "n:/1/2"),
            ("n:{/a*}", "n:/1/2/3"),
            ("n:x{;a,b}", "n:x;a=1;b"),
            ("n:x{?a,b}", "n:x?a=1&b=2"),
            ("n:x{?a,b}", "n:x?b=2"),
            ("n:x{?a,b}", "n:x?a="),
            ("n:x{?a,b}", "n:x"),
            ("n:x{?a*}", "n:x?any=1&thing=2"),
            ("n:x?f=1{&a}", "n:x?f=1&a=2"),
            ("n:{a:3}", "n:abc"),
            ("n:{a}{b}", "n:12"),
            ("n:x{?q}{#f}", "n:x?q=1#z"),
        ] {
            assert!(matches(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn what_a_template_does_not_make_does_not_match() {
        for (template, uri) in [
            ("note://all", "note://al"),
            ("note://all", "note://alll"),
            ("test://template/{id}/data", "test://template/1/2/data"),
            ("test://template/{id}/data", "test://template//data"),
            ("n:{x}", "n:a?b"),
            ("n:{x}", "n:"),
            ("n:{/a,b}", "n:/1"),
            ("n:x{?a,b}", "n:x?c=1"),
            ("n:x{?a,b}", "n:x?a=1&a=2"),
            ("n:x{?a,b}", "n:x?a=1&"),
            ("n:x{?a,b}", "n:x?"),
            ("n:x{?a}", "n:x?a=1?a=1"),
            ("n:x{#f}", "n:xy"),
        ] {
            assert!(!matches(template, uri), "{template} {uri}");
        }
        assert!(!UriTemplate::parse("n:{+x}", 9).unwrap().matches("n:34567890"));
    }

    #[test]
    fn bad_templates_are_refused_with_a_reason() {
        let fault = |text: &str| UriTemplate::parse(text, 2_048).unwrap_err();
        assert_eq!(fault("n:{x"), UriTemplateError::Brace);
        assert_eq!(fault("n:x}"), UriTemplateError::Brace);
        assert_eq!(fault("n:{a{b}}"), UriTemplateError::Variable);
        assert_eq!(fault("n:{}"), UriTemplateError::Variable);
        assert_eq!(fault("n:{a,}"), UriTemplateError::Variable);
        assert_eq!(fault("n:{a:x}"), UriTemplateError::Variable);
        assert_eq!(fault("n:{=a}"), UriTemplateError::Operator('='));
        assert_eq!(fault("n:a b{x}"), UriTemplateError::Character(' '));
        assert_eq!(fault("{+everything}"), UriTemplateError::Scheme);
        assert_eq!(fault(""), UriTemplateError::Scheme);
        assert_eq!(fault(&format!("n:{}", "{x}".repeat(33))), UriTemplateError::TooMany);
    }

    #[test]
    fn hostile_templates_and_uris_end_in_time() {
        let many = format!("n:{}!", "{+x}a".repeat(32));
        let pairs = format!("n:{}!", "{?a*}{&b*}{;c*}".repeat(10));
        let long = format!("n:{{+x}}{}{{+y}}!", "a".repeat(1_000));
        let started = std::time::Instant::now();
        let semicolons = format!("n:{}!", "{;x*}".repeat(32));
        for template in [many, pairs, long, semicolons] {
            let template = UriTemplate::parse(&template, 2_048).unwrap();
            for filler in ["a", ";a", "?a=1", "&b=1", ";c", "?a&a&a&a", "#"] {
                let uri: String = format!("n:{}", filler.repeat(2_046)).chars().take(2_048).collect();
                assert!(!template.matches(&uri));
            }
        }
        assert!(started.elapsed().as_millis() < 1_000, "{:?}", started.elapsed());
    }
}
