//! The media type of a shipped file, by the ending of its name: a file cannot claim to be something else.

/// Endings and their types.
const TYPES: [(&str, &str); 25] = [
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("html", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("xml", "application/xml"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("py", "text/x-python"),
    ("sh", "text/x-shellscript"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("wasm", "application/wasm"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
];

/// The media type of an app.
pub(super) const APP: &str = "text/html;profile=mcp-app";

/// The media type of a file of this name, which is text or not.
pub(super) fn of(name: &str, is_text: bool) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let known = TYPES.iter().find(|(known, _)| ending.as_deref() == Some(known));
    match known {
        Some((_, media_type)) => media_type,
        None if is_text => "text/plain",
        None => "application/octet-stream",
    }
}

/// Whether files of this type are texts.
pub(super) fn is_text(media_type: &str) -> bool {
    const TEXTS: [&str; 5] =
        ["application/xml", "application/json", "application/yaml", "application/toml", "image/svg+xml"];
    media_type.starts_with("text/") || TEXTS.contains(&media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        assert_eq!((of("SKILL.md", true), of("a.b.PNG", false)), ("text/markdown", "image/png"));
        assert_eq!((of("LICENSE", true), of("a.rs", true)), ("text/plain", "text/plain"));
        assert_eq!(
            (of("a.bin", false), of("md", false)),
            ("application/octet-stream", "application/octet-stream")
        );
    }
}
