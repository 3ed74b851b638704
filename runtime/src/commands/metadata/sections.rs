//! Sections of a module or a component as they lie in the file: a byte that says which, a length, and that many bytes. The
//! same for both, so nothing has to be understood to take one out or add one.

/// Bytes before the first section.
pub(super) const PREAMBLE: usize = 8;

/// The number of custom sections.
const CUSTOM: u8 = 0;

/// Sections that nobody needs who runs a module: names of functions, and what debuggers read.
const FOR_DEBUGGERS: [&str; 3] = ["name", "sourceMappingURL", "external_debug_info"];

/// The file is no module and no component, or is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what was built is damaged; build it again")]
pub(in crate::commands) struct SectionError;

/// A section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'b> {
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
    let (id, rest) = bytes.split_first()?;
    let (length, rest) = leb(rest)?;
    let (content, rest) = rest.split_at_checked(length)?;
    let whole = bytes.get(..bytes.len() - rest.len())?;
    let custom = if *id == CUSTOM { named(content) } else { None };
    Some((Section { whole, custom }, rest))
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

/// The module without what only debuggers need.
pub(in crate::commands) fn strip(module: &[u8]) -> Result<Vec<u8>, SectionError> {
    let needless = |name: &str| FOR_DEBUGGERS.contains(&name) || name.starts_with(".debug_");
    let mut out = module.get(..PREAMBLE).ok_or(SectionError)?.to_vec();
    for section in outermost(module) {
        let section = section?;
        if !section.custom.is_some_and(|(name, _)| needless(name)) {
            out.extend_from_slice(section.whole);
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

    #[test]
    fn names_and_debug_sections_go_and_all_else_stays() {
        let text =
            r#"(module $named (func $inner (export "f")) (@custom "kept" "x") (@custom ".debug_line" "y"))"#;
        let module = wat::parse_str(text).unwrap();
        let stripped = strip(&module).unwrap();
        let custom: Vec<_> =
            outermost(&stripped).map(Result::unwrap).filter_map(|section| section.custom).collect();
        assert_eq!(custom, [("kept", &b"x"[..])]);
        assert!(stripped.len() < module.len() && wasmparser::validate(&stripped).is_ok());
        assert_eq!(strip(&stripped).unwrap(), stripped);
        assert!(strip(b"").is_err() && strip(&module[..module.len() - 1]).is_err());
    }
}
