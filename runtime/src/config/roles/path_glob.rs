//! Patterns of paths and other texts in arguments, which no spelling of a path gets around.
//!
//! Unlike a [`NameGlob`], in which a star crosses slashes, a pattern is compared segment by segment.
//!
//! A pattern and a value are split at `/`, and compared segment by segment:
//!
//! | In the pattern | Matches |
//! |---|---|
//! | `*` in a segment | any text within this one segment, also none; the segment is not empty |
//! | a segment `**` | any number of whole segments, also none; at the end of the pattern at least one |
//! | everything else | itself |
//!
//! A tool, a file system or a URL parser may read a value in another way than it is written. So what a star stands for
//! is plain text: no empty segment (`//`), no `\`, and no percent-encoded `/`, `\`, `.`, `%` or control character.
//! Beyond that, a value with a segment `.` or `..` matches nothing, also where the dots are followed by spaces or by
//! `;`, which some systems ignore; nor does a value with a control character. One slash at the end of a value does not
//! count.
//!
//! Only texts are compared, and nothing is resolved: whether a link inside a folder leads out of it is the business of
//! the grant `dirs`.

use super::name_glob::NameGlob;

/// Longest value that is compared, bytes: no longer path can be opened.
const MAX_VALUE: usize = 4_096;

/// Most segments of a value.
const MAX_SEGMENTS: usize = 256;

/// A pattern: groups of segments, with `**` between each two groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathGlob {
    /// The segments before the first `**`; all if there is none.
    start: Group,
    /// What follows the first `**`; `None` without one.
    tail: Option<Tail>,
}

type Group = Box<[NameGlob]>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Tail {
    /// The groups between two `**`.
    middle: Box<[Group]>,
    /// The segments after the last `**`.
    end: Group,
}

/// Why a pattern could mean something else than it says. The sentences follow the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathGlobError {
    /// `.` or `..`.
    #[error("has a segment `.` or `..`, which matches nothing; write the path without it")]
    Dots,
    /// `**` as part of a segment.
    #[error("has `**` as a part of a segment; write it as a whole segment, such as `/data/**`")]
    DoubleStar,
    /// An empty segment.
    #[error("has two slashes in a row; write one")]
    Empty,
    /// A star in the scheme or the host of a URL.
    #[error(
        "has a star before the path of a URL, where `https://*.example.com` would also match \
         `https://evil.example?.example.com`; write scheme and host in full"
    )]
    Host,
    /// A backslash or a control character.
    #[error("has a backslash or a control character, which matches nothing; write paths with `/`")]
    Character,
}

impl PathGlob {
    /// Parses a pattern.
    ///
    /// # Errors
    /// With what to write instead.
    pub fn parse(pattern: &str) -> Result<Self, PathGlobError> {
        if pattern.contains(|c: char| c == '\\' || c.is_control()) {
            return Err(PathGlobError::Character);
        }
        let segments: Vec<&str> = without_last_slash(pattern).split('/').collect();
        check_segments(&segments)?;
        let mut groups = segments.split(|segment| *segment == "**").map(globs);
        let start = groups.next().unwrap_or_default();
        let mut middle: Vec<Group> = groups.collect();
        let tail = middle.pop().map(|end| Tail { middle: middle.into_boxed_slice(), end });
        Ok(Self { start, tail })
    }

    /// Whether it matches the whole value.
    #[must_use]
    pub fn matches(&self, value: &PathValue<'_>) -> bool {
        let segments = value.segments.as_slice();
        let Some(tail) = &self.tail else {
            return segments.len() == self.start.len() && begins(&self.start, segments);
        };
        let Some(ends) = segments.len().checked_sub(tail.end.len()) else { return false };
        let Some((body, last)) = segments.split_at_checked(ends) else { return false };
        let Some((first, mut rest)) = body.split_at_checked(self.start.len()) else { return false };
        if !begins(&self.start, first) || !begins(&tail.end, last) {
            return false;
        }
        for group in &tail.middle {
            let Some(after) = skip_to(group, rest) else { return false };
            rest = after;
        }
        let stands_for_some = !tail.end.is_empty() || !rest.is_empty();
        stands_for_some && rest.iter().all(|segment| segment.is_plain)
    }
}

/// A text of the arguments, split once for all patterns.
#[derive(Debug)]
pub struct PathValue<'v> {
    segments: Vec<Segment<'v>>,
}

#[derive(Debug)]
struct Segment<'v> {
    text: &'v str,
    /// Whether a star may stand for it.
    is_plain: bool,
}

impl<'v> PathValue<'v> {
    /// Splits a value. `None`: no pattern may match it.
    #[must_use]
    pub fn new(value: &'v str) -> Option<Self> {
        if value.len() > MAX_VALUE || value.contains(char::is_control) {
            return None;
        }
        let segments: Vec<Segment<'v>> = without_last_slash(value)
            .split('/')
            .take(MAX_SEGMENTS + 1)
            .map(|text| Segment { text, is_plain: is_plain(text) })
            .collect();
        let is_whole = segments.len() <= MAX_SEGMENTS;
        let is_clear = !segments.iter().any(|segment| has_dots_only(segment.text));
        (is_whole && is_clear).then_some(Self { segments })
    }
}

/// A slash alone is the root.
fn without_last_slash(path: &str) -> &str {
    path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Checks the segments of a pattern.
fn check_segments(segments: &[&str]) -> Result<(), PathGlobError> {
    if segments.iter().any(|segment| has_dots_only(segment)) {
        return Err(PathGlobError::Dots);
    }
    if segments.iter().any(|segment| segment.contains("**") && *segment != "**") {
        return Err(PathGlobError::DoubleStar);
    }
    let path = match segments {
        // A URL with a host, or without one as in `file:///data`.
        [scheme, "", rest @ ..] if !scheme.is_empty() => {
            let host = rest.first().copied().unwrap_or_default();
            if scheme.contains('*') || host.contains('*') {
                return Err(PathGlobError::Host);
            }
            if !scheme.ends_with(':') {
                return Err(PathGlobError::Empty);
            }
            rest.get(1..).unwrap_or_default()
        }
        // An absolute path; a lone slash is the root.
        ["", ""] => &[],
        ["", rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    if path.contains(&"") { Err(PathGlobError::Empty) } else { Ok(()) }
}

fn globs(segments: &[&str]) -> Group {
    segments.iter().map(|segment| NameGlob::new(segment)).collect()
}

/// Whether the segments begin with such a group.
fn begins(group: &[NameGlob], segments: &[Segment<'_>]) -> bool {
    group.len() <= segments.len()
        && group.iter().zip(segments).all(|(glob, segment)| {
            (segment.is_plain || glob.literal().is_some()) && glob.matches(segment.text)
        })
}

/// What follows the first such group, if `**` may stand for everything before it.
fn skip_to<'s, 'v>(group: &[NameGlob], segments: &'s [Segment<'v>]) -> Option<&'s [Segment<'v>]> {
    let mut rest = segments;
    while !begins(group, rest) {
        let (skipped, after) = rest.split_first()?;
        if !skipped.is_plain {
            return None;
        }
        rest = after;
    }
    rest.get(group.len()..)
}

/// Whether a segment means this folder or the one above, also to a system that ignores dots and spaces at the end of a
/// name, or what follows `;`.
fn has_dots_only(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    !segment.is_empty() && name.bytes().all(|byte| matches!(byte, b'.' | b' '))
}

/// Whether a star may stand for a segment, or for a part of it.
fn is_plain(segment: &str) -> bool {
    let is_encoded = |after: &str| {
        let byte = after.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        byte.is_some_and(|byte| byte.is_ascii_control() || matches!(byte, b'/' | b'\\' | b'.' | b'%'))
    };
    !segment.is_empty() && !segment.contains('\\') && !segment.split('%').skip(1).any(is_encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, value: &str) -> bool {
        let glob = PathGlob::parse(pattern).unwrap();
        PathValue::new(value).is_some_and(|value| glob.matches(&value))
    }

    #[test]
    fn a_star_stays_in_its_segment_and_two_stars_are_whole_segments() {
        for (pattern, value, expected) in [
            ("/data/**", "/data/a", true),
            ("/data/**", "/data/a/b.txt", true),
            ("/data/**", "/data/a/", true),
            ("/data/**", "/data", false),
            ("/data/**", "/data/", false),
            ("/data/**", "/database/a", false),
            ("/data/**", "data/a", false),
            ("/data/*", "/data/a", true),
            ("/data/*", "/data/a/b", false),
            ("/data/*.txt", "/data/.txt", true),
            ("/data/*/x", "/data/a/x", true),
            ("/**/x", "/x", true),
            ("/**/x", "/a/b/x", true),
            ("/**/b/**/x", "/a/b/b/x", true),
            ("/**/b/**/x", "/a/x", false),
            ("/a/**/b/*", "/a/b/c", true),
            ("/a/**/b/*", "/a/b", false),
            ("**", "a/b", true),
            ("**", "/a", false),
            ("**", "", false),
            ("*", "a b", true),
            ("*", "a/b", false),
            ("*", "", false),
            ("Ber*", "Berlin", true),
            ("/", "/", true),
            ("/**", "/", false),
            ("/data/", "/data", true),
            ("https://h/**", "https://h/a/b?c#d", true),
            ("https://h/**", "https://h@evil.test/a", false),
            ("https://h/**", "https://evil.test/h/a", false),
            ("https://h/**", "https:/h/a", false),
            ("file:///data/**", "file:///data/a", true),
            ("file:///data/**", "file://evil/data/a", false),
        ] {
            assert_eq!(fits(pattern, value), expected, "{pattern} {value}");
        }
    }

    #[test]
    fn no_spelling_of_a_path_leads_out_of_a_folder() {
        for value in [
            "/data/..",
            "/data/../etc",
            "/data/a/../../etc",
            "/data/./a",
            "/data//etc",
            "/data///",
            "//data/a",
            "/data/.. /etc",
            "/data/..;/etc",
            "/data/...",
            "/data/..\\etc",
            "/data/a\\..\\..\\etc",
            "/data/%2e%2e/etc",
            "/data/%2E./etc",
            "/data/a%2f..%2f..%2fetc",
            "/data/a%5cb",
            "/data/%252e%252e/etc",
            "/data/a%00",
            "/data/a\0",
            "/data/.\t./etc",
            "/data/a\n",
        ] {
            assert!(!fits("/data/**", value) && !fits("/**", value), "{value:?}");
        }
        for value in ["/data/a..b", "/data/.hidden", "/data/a;b", "/data/100%", "/data/a%20b", "/data/@x#y?z"]
        {
            assert!(fits("/data/**", value), "{value:?}");
        }
        assert!(fits("https://h/a%2Fb", "https://h/a%2Fb"), "what is written in full is meant");
        assert!(!fits("/**/a%2Fb", "/c%2Fd/a%2Fb") && fits("/**/a%2Fb", "/c/a%2Fb"));
    }

    #[test]
    fn a_pattern_that_could_mean_something_else_is_a_mistake() {
        use PathGlobError as E;
        for (pattern, error) in [
            ("/data/../x", E::Dots),
            ("./x", E::Dots),
            ("/data/..;a", E::Dots),
            ("/data**", E::DoubleStar),
            ("/***", E::DoubleStar),
            ("/data//x", E::Empty),
            ("//data", E::Empty),
            ("a//b", E::Empty),
            ("https://h//x", E::Empty),
            ("https://*.example.com/**", E::Host),
            ("https://**", E::Host),
            ("*://h/**", E::Host),
            ("C:\\data", E::Character),
            ("/a\n", E::Character),
        ] {
            assert_eq!(PathGlob::parse(pattern), Err(error), "{pattern}");
        }
    }

    #[test]
    fn what_is_too_long_matches_nothing() {
        let long = format!("/{}", "a".repeat(MAX_VALUE - 1));
        assert!(fits("/**", &long) && !fits("/**", &format!("{long}a")));
        let deep = "/a".repeat(MAX_SEGMENTS - 1);
        assert!(fits("/**", &deep) && !fits("/**", &format!("{deep}/a")));
    }
}
