//! The rule for names of plugins, and the part of it that applies to every name that clients see.

/// Maximum length of a plugin's name, which leaves half of a public name for the tool.
const MAX_PLUGIN_NAME: usize = 63;

/// Why a name cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty.
    #[error("the name is empty")]
    Empty,
    /// The name is longer than clients accept.
    #[error("the name has {0} characters; at most {1} are allowed")]
    TooLong(usize, usize),
    /// The name has a character that is not allowed.
    #[error("the name has the character `{}`; only letters, digits, `_`, `-` and `.` are allowed", .0.escape_unicode())]
    Character(char),
}

/// Checks a name that clients see: at most `max_length` characters, all of them `allowed`.
///
/// # Errors
/// When it is empty, too long, or has another character.
pub fn check_name(name: &str, max_length: usize, allowed: fn(char) -> bool) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if let Some(character) = name.chars().find(|character| !allowed(*character)) {
        return Err(NameError::Character(character));
    }
    if name.len() > max_length {
        return Err(NameError::TooLong(name.len(), max_length));
    }
    Ok(())
}

/// Checks the name of a plugin, the stem of its file.
///
/// # Errors
/// When it is empty, too long, or has other characters than ASCII letters, digits, `_` and `-`.
pub fn plugin_name(stem: &str) -> Result<&str, NameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    check_name(stem, MAX_PLUGIN_NAME, allowed).map(|()| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugins_name_is_letters_digits_and_two_marks() {
        assert!(plugin_name("my_plugin-2").is_ok());
        assert!(plugin_name("my.plugin").is_err());
    }
}
