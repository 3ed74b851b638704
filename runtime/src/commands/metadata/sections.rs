//! Sections of a module or a component as they lie in the file: a byte that says which, a length, and that many bytes. The
//! same for both, so nothing has to be understood to take one out or add one.

/// Bytes before the first section.
pub(super) const PREAMBLE: usize = 8;

/// The number of custom sections.
const CUSTOM: u8 = 0;

/// The numbers of sections of a component that hold a module or another component.
const HOLDING: [u8; 2] = [1, 4];

/// How the preamble of a component ends; that of a module says 1.
const COMPONENT: &[u8] = b"\x0d\0\x01\0";

/// How deep components lie in each other where anybody looks. Tools make two or three.
const DEEPEST: usize = 16;

/// Sections that nobody needs who runs it: names of functions and of what a component is made of, and what debuggers read.
const FOR_DEBUGGERS: [&str; 4] = ["name", "component-name", "sourceMappingURL", "external_debug_info"];

/// The file is no module and no component, or is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what was built is damaged; build it again")]
pub(in crate::commands) struct SectionError;

/// A section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'b> {
    number: u8,
    content: &'b [u8],
    /// With its number and its length.
    pub(super) whole: &'b [u8],
    /// Name and content of a custom one.
    pub(super) custom: Option<(&'b str, &'b [u8])>,
}

/// The outermost sections, until the end or until something is wrong.
pub(super) fn outermost(bytes: &[u8]) -> impl Iterator<Item = Result<Section<'_>, SectionError>> {
    let known = bytes.starts_with(b"\0asm").then(|| bytes.get(PREAMBLE..)).flatten();
    let mut rest = known.ok_or(SectionError);
    std::iter::from_fn(move || {
        let bytes = match rest {
            Ok([]) => return None,
            Ok(bytes) => bytes,
            Err(error) => {
                rest = Ok(&[]);
                return Some(Err(error));
            }
        };
        let read = section(bytes);
        rest = Ok(read.map_or(&[], |(_, rest)| rest));
        Some(read.map(|(section, _)| section).ok_or(SectionError))
    })
}

fn section(bytes: &[u8]) -> Option<(Section<'_>, &[u8])> {
    let (number, rest) = bytes.split_first().map(|(number, rest)| (*number, rest))?;
    let (length, rest) = leb(rest)?;
    let (content, rest) = rest.split_at_checked(length)?;
    let whole = bytes.get(..bytes.len() - rest.len())?;
    let custom = if number == CUSTOM { named(content) } else { None };
    Some((Section { number, content, whole, custom }, rest))
}

fn named(content: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = leb(content)?;
    let (name, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(name).ok()?, data))
}

/// A length and what follows it.
pub(super) fn leb(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let length = u32::try_from(value).ok()?;
            return Some((usize::try_from(length).ok()?, bytes.get(at + 1..)?));
        }
    }
    None
}

/// Bytes after their length.
pub(super) fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    let mut left = bytes.len();
    while left >= 0x80 {
        out.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out.extend_from_slice(bytes);
}

/// Adds a custom section.
pub(super) fn custom(name: &str, data: &[u8], out: &mut Vec<u8>) {
    let mut content = Vec::new();
    sized(name.as_bytes(), &mut content);
    content.extend_from_slice(data);
    out.push(CUSTOM);
    sized(&content, out);
}

/// The module or component without what only debuggers need, and all that is in it too.
pub(in crate::commands) fn strip(bytes: &[u8]) -> Result<Vec<u8>, SectionError> {
    stripped(bytes, DEEPEST)
}

fn stripped(bytes: &[u8], deeper: usize) -> Result<Vec<u8>, SectionError> {
    let needless = |name: &str| FOR_DEBUGGERS.contains(&name) || name.starts_with(".debug_");
    let mut out = bytes.get(..PREAMBLE).ok_or(SectionError)?.to_vec();
    let is_opened = out.ends_with(COMPONENT) && deeper > 0;
    for section in outermost(bytes) {
        let Section { number, content, whole, custom } = section?;
        if is_opened && HOLDING.contains(&number) {
            out.push(number);
            sized(&stripped(content, deeper - 1)?, &mut out);
        } else if !custom.is_some_and(|(name, _)| needless(name)) {
            out.extend_from_slice(whole);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for length in [0, 1, 127, 128, 300, 70_000] {
            let mut out = Vec::new();
            sized(&vec![7; length], &mut out);
            assert_eq!(leb(&out).map(|(found, rest)| (found, rest.len())), Some((length, length)));
        }
        assert_eq!(leb(b"\xff\xff\xff\xff\xff\x01"), None);
        assert_eq!(leb(b"\xff\xff\xff\xff\x7f"), None, "more than 32 bits");
        assert_eq!(leb(b"\x80"), None);
    }

    /// Names of custom sections, wherever they lie.
    fn customs(bytes: &[u8]) -> Vec<String> {
        let payloads = wasmparser::Parser::new(0).parse_all(bytes).map(Result::unwrap);
        let name = |payload| match payload {
            wasmparser::Payload::CustomSection(section) => Some(section.name().to_owned()),
            _ => None,
        };
        payloads.filter_map(name).collect()
    }

    #[test]
    fn names_and_debug_sections_go_and_all_else_stays() {
        let text =
            r#"(module $named (func $inner (export "f")) (@custom "kept" "x") (@custom ".debug_line" "y"))"#;
        let module = wat::parse_str(text).unwrap();
        let stripped = strip(&module).unwrap();
        assert_eq!(customs(&stripped), ["kept"]);
        assert!(stripped.len() < module.len() && wasmparser::validate(&stripped).is_ok());
        assert_eq!(strip(&stripped).unwrap(), stripped);
        assert!(strip(b"").is_err() && strip(&module[..module.len() - 1]).is_err());
    }

    #[test]
    fn what_lies_in_a_component_is_looked_at_too() {
        let text = r#"(component $outer
            (core module $one (func $f (export "f")) (@custom "kept" "x"))
            (component $inner (core module $two (func $g (export "g")) (@custom "kept too" "y")))
            (core instance $i (instantiate $one))
            (func (export "f") (canon lift (core func $i "f"))))"#;
        let component = wat::parse_str(text).unwrap();
        assert!(customs(&component).iter().any(|name| name == "name"));
        let stripped = strip(&component).unwrap();
        assert_eq!(customs(&stripped), ["kept", "kept too"]);
        assert!(stripped.len() < component.len() && wasmparser::validate(&stripped).is_ok());
        assert_eq!(strip(&stripped).unwrap(), stripped);
    }

    #[test]
    fn what_lies_too_deep_is_left_as_it_is() {
        let mut nested = wat::parse_str("(component $innermost)").unwrap();
        for _ in 0..=DEEPEST {
            let mut outer = b"\0asm\x0d\0\x01\0\x04".to_vec();
            sized(&nested, &mut outer);
            nested = outer;
        }
        assert_eq!(strip(&nested).unwrap(), nested);
    }
}
