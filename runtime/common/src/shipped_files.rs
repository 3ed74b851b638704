//! Shipped files: files in a component that the server serves itself, below `skills/` and `ui/`. `plugport build` writes
//! them and the server reads them.
//!
//! Each file is a custom section [`FILES_SECTION`] of the outermost component, so that tools that copy sections keep it
//! whole: a byte for the format, the path with its length before it, and the contents. A component is untrusted: every
//! number in it is compared with the bytes that are there, and one file that breaks a rule rejects all of them, since a
//! plugin with half of its files would be another one than its author tested.

use std::collections::HashSet;

use crate::sections::{CUSTOM, custom_sections, prefixed, write_prefixed};

/// The custom section that has one file.
const FILES_SECTION: &[u8] = b"plugport:files";

/// The format that this program writes and reads.
const FORMAT: u8 = 1;

/// The folders that files may be in.
pub const FILE_FOLDERS: [&str; 2] = ["skills", "ui"];

/// Maximum number of files, as many as clients accept of one skill.
const MAX_FILES: usize = 512;

/// Maximum size of one file in bytes: it is sent in one message.
pub const MAX_FILE: usize = 2 << 20;

/// Maximum size of all files together in bytes, as many as clients accept of one skill.
const MAX_ALL: usize = 16 << 20;

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 200;

/// Maximum number of folders and files in a path.
const MAX_DEPTH: usize = 10;

/// A file in a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedFile<'c> {
    /// Its path, such as `skills/review/SKILL.md`, which [`check_path`] accepts.
    pub path: &'c str,
    /// Its contents.
    pub contents: &'c [u8],
}

/// Why a path cannot be shipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Outside the folders for files.
    #[error("lies neither in skills/ nor in ui/")]
    Folder,
    /// Too long or too deep.
    #[error("has more than {MAX_PATH} bytes or {MAX_DEPTH} parts; shorten it")]
    Long,
    /// A part that some system or URI could read as something else.
    #[error(
        "has the part `{0}`; a part is made of ASCII letters, digits, `-`, `_` and `.`, and does not begin with a dot"
    )]
    Part(String),
}

/// Why the files of a component cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShippedFilesError {
    /// A section that is cut off, or claims more than it has.
    #[error("has a damaged section `plugport:files`; build it again")]
    Damaged,
    /// A later format.
    #[error(
        "has files in format {0}, which this plugport does not know; use the one that built it, or a later one"
    )]
    Format(u8),
    /// A path that is not allowed.
    #[error("has a file whose path {0}")]
    Path(#[from] PathError),
    /// Two files that are one on some systems, or a file that is also a folder.
    #[error("has two files `{0}`, or a folder of that name; on some systems they would be one")]
    Twice(String),
    /// More files than a component may have.
    #[error("has more than {MAX_FILES} files")]
    TooMany,
    /// Beyond [`MAX_FILE`].
    #[error("has a file of more than {max} MiB, `{0}`", max = MAX_FILE >> 20)]
    TooLarge(String),
    /// More bytes than all files of a component may have together.
    #[error("has more than {} MiB of files", MAX_ALL >> 20)]
    TooMuch,
}

/// The files of a component, by path.
///
/// # Errors
/// When one of them breaks a rule.
pub fn shipped_files(component: &[u8]) -> Result<Vec<ShippedFile<'_>>, ShippedFilesError> {
    let mut files = Vec::new();
    let mut total = 0_usize;
    for (_, data) in custom_sections(component).filter(|(name, _)| *name == FILES_SECTION) {
        let file = read(data)?;
        total = total.saturating_add(file.contents.len());
        files.push(file);
        if files.len() > MAX_FILES {
            return Err(ShippedFilesError::TooMany);
        }
        if total > MAX_ALL {
            return Err(ShippedFilesError::TooMuch);
        }
    }
    files.sort_by_key(|file| file.path);
    check_distinct(&files)?;
    Ok(files)
}

/// Adds a file to a component, at its end.
///
/// # Errors
/// When no component may have it.
pub fn append_file(component: &mut Vec<u8>, file: ShippedFile<'_>) -> Result<(), ShippedFilesError> {
    let mut body = Vec::with_capacity(file.contents.len() + MAX_PATH);
    write_prefixed(FILES_SECTION, &mut body);
    body.push(FORMAT);
    write_prefixed(file.path.as_bytes(), &mut body);
    body.extend_from_slice(file.contents);
    check(file)?;
    component.push(CUSTOM);
    write_prefixed(&body, component);
    Ok(())
}

/// Whether a custom section of this name has a file.
#[must_use]
pub fn is_files_section(name: &str) -> bool {
    name.as_bytes() == FILES_SECTION
}

/// Checks the path of a file: it means the same on every system and in every URI.
///
/// # Errors
/// When it breaks a rule.
pub fn check_path(path: &str) -> Result<(), PathError> {
    if path.len() > MAX_PATH || path.split('/').count() > MAX_DEPTH {
        return Err(PathError::Long);
    }
    if let Some(part) = path.split('/').find(|part| !is_part(part)) {
        return Err(PathError::Part(part.escape_debug().to_string()));
    }
    let folder = path.split_once('/').map(|(folder, _)| folder);
    if folder.is_some_and(|folder| FILE_FOLDERS.contains(&folder)) { Ok(()) } else { Err(PathError::Folder) }
}

fn is_part(part: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(allowed)
}

fn read(data: &[u8]) -> Result<ShippedFile<'_>, ShippedFilesError> {
    let (format, data) = data.split_first().ok_or(ShippedFilesError::Damaged)?;
    if *format != FORMAT {
        return Err(ShippedFilesError::Format(*format));
    }
    let (path, contents) = prefixed(data).ok_or(ShippedFilesError::Damaged)?;
    let path = std::str::from_utf8(path).map_err(|_| ShippedFilesError::Damaged)?;
    let file = ShippedFile { path, contents };
    check(file)?;
    Ok(file)
}

fn check(file: ShippedFile<'_>) -> Result<(), ShippedFilesError> {
    check_path(file.path)?;
    match file.contents.len() > MAX_FILE {
        true => Err(ShippedFilesError::TooLarge(file.path.to_owned())),
        false => Ok(()),
    }
}

/// Checks that no two files would be one where case does not matter, and that no file is a folder too.
fn check_distinct(files: &[ShippedFile<'_>]) -> Result<(), ShippedFilesError> {
    let lower: Vec<String> = files.iter().map(|file| file.path.to_ascii_lowercase()).collect();
    let mut seen = HashSet::new();
    if let Some(twice) = lower.iter().find(|path| !seen.insert(path.as_str())) {
        return Err(ShippedFilesError::Twice(twice.clone()));
    }
    let folders = lower.iter().flat_map(|path| path.match_indices('/').filter_map(|(at, _)| path.get(..at)));
    match folders.into_iter().find(|folder| seen.contains(folder)) {
        Some(folder) => Err(ShippedFilesError::Twice(folder.to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    /// A component with a section of this data.
    fn with(component: &[u8], data: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        write_prefixed(FILES_SECTION, &mut body);
        body.extend_from_slice(data);
        let mut out = component.to_vec();
        out.push(CUSTOM);
        write_prefixed(&body, &mut out);
        out
    }

    fn shipping(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut component = EMPTY.to_vec();
        for (path, contents) in files {
            append_file(&mut component, ShippedFile { path, contents }).unwrap();
        }
        component
    }

    #[test]
    fn what_is_written_is_read_again_in_order() {
        let files: [(&str, &[u8]); 2] = [("ui/b.html", b"<p>"), ("skills/a/SKILL.md", b"---")];
        let component = shipping(&files);
        let read: Vec<_> = shipped_files(&component).unwrap();
        assert_eq!(read.iter().map(|file| file.path).collect::<Vec<_>>(), ["skills/a/SKILL.md", "ui/b.html"]);
        assert_eq!(read[1].contents, b"<p>");
        assert!(wasmparser::validate(&component).is_ok());
        assert_eq!(shipped_files(EMPTY), Ok(Vec::new()));
    }

    #[test]
    fn a_section_that_claims_more_than_it_has_is_damaged() {
        for data in
            [&b""[..], b"\x01", b"\x01\xff\xff\xff\xff\x0fui/a.html", b"\x01\x7fui/a.html", b"\x01\x01\xff"]
        {
            assert_eq!(shipped_files(&with(EMPTY, data)), Err(ShippedFilesError::Damaged), "{data:?}");
        }
        assert_eq!(shipped_files(&with(EMPTY, b"\x02")), Err(ShippedFilesError::Format(2)));
        // The engine rejects a file with such a section.
        let claims = [EMPTY, b"\x00\xff\xff\xff\xff\x0f\x0eplugport:files"].concat();
        assert_eq!(shipped_files(&claims), Ok(Vec::new()));
        assert!(wasmparser::validate(&claims).is_err());
    }

    #[test]
    fn a_path_means_the_same_everywhere() {
        for good in ["ui/a.html", "skills/a/SKILL.md", "skills/a/b-c_d.e/f..g"] {
            assert_eq!(check_path(good), Ok(()), "{good}");
        }
        for bad in [
            "skills/../a",
            "skills/a/..",
            "ui/.git",
            "ui//a",
            "/ui/a",
            "ui/a/",
            "ui/a b",
            "ui/a%2e",
            "ui/a\\b",
            "ui/a:b",
            "ui/\u{e4}",
            "ui/a\0",
        ] {
            assert!(matches!(check_path(bad), Err(PathError::Part(_))), "{bad}");
        }
        for outside in ["ui", "a/b", "UI/a"] {
            assert_eq!(check_path(outside), Err(PathError::Folder), "{outside}");
        }
        assert_eq!(check_path(&format!("ui/{}", "a".repeat(MAX_PATH))), Err(PathError::Long));
        assert_eq!(check_path(&format!("ui{}", "/a".repeat(MAX_DEPTH))), Err(PathError::Long));
        let escaped = with(EMPTY, b"\x01\x0cskills/../ab");
        assert!(matches!(shipped_files(&escaped), Err(ShippedFilesError::Path(_))));
    }

    #[test]
    fn no_two_files_are_one_on_any_system() {
        for (one, other) in [("ui/a", "ui/a"), ("ui/a", "ui/A"), ("ui/a", "ui/a/b"), ("ui/A/b", "ui/a")] {
            let component = shipping(&[(one, b""), (other, b"")]);
            assert!(matches!(shipped_files(&component), Err(ShippedFilesError::Twice(_))), "{one} {other}");
        }
        assert!(shipped_files(&shipping(&[("ui/a", b""), ("ui/a-b", b""), ("ui/ab/c", b"")])).is_ok());
    }

    #[test]
    fn files_are_few_and_not_large() {
        let large = vec![0; MAX_FILE + 1];
        let mut component = EMPTY.to_vec();
        let file = ShippedFile { path: "ui/a", contents: &large };
        assert!(matches!(append_file(&mut component, file), Err(ShippedFilesError::TooLarge(_))));
        let many: Vec<String> = (0..=MAX_FILES).map(|n| format!("ui/{n}")).collect();
        let many: Vec<(&str, &[u8])> = many.iter().map(|path| (path.as_str(), &b""[..])).collect();
        assert_eq!(shipped_files(&shipping(&many)), Err(ShippedFilesError::TooMany));
        assert!(shipped_files(&shipping(&many[1..])).is_ok());
        let much: Vec<String> = (0..9).map(|n| format!("ui/{n}")).collect();
        let much: Vec<(&str, &[u8])> = much.iter().map(|path| (path.as_str(), &large[1..])).collect();
        assert_eq!(shipped_files(&shipping(&much)), Err(ShippedFilesError::TooMuch));
    }

    #[test]
    fn only_the_component_itself_ships_files() {
        let mut inner = shipping(&[("ui/a", b"")]);
        let mut outer = EMPTY.to_vec();
        outer.push(4);
        write_prefixed(&inner, &mut outer);
        assert_eq!(shipped_files(&outer), Ok(Vec::new()));
        for cut in 0..inner.len() {
            let _ = shipped_files(&inner[..cut]);
            inner[cut] ^= 0xff;
            let _ = shipped_files(&inner);
            inner[cut] ^= 0xff;
        }
    }
}
