//! The rule for names of plugins, which is part of that for every name that clients see.

/// Longest name of a plugin, which leaves half of a public name for the tool.
const LONGEST_PLUGIN: usize = 63;

/// Why a name cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("the name is empty")]
    Empty,
    /// Longer than clients accept.
    #[error("the name has {0} characters; at most {1} are allowed")]
    TooLong(usize, usize),
    /// A character outside the set.
    #[error("the name has the character `{}`; only letters, digits, `_`, `-` and `.` are allowed", .0.escape_unicode())]
    Character(char),
}

/// Checks a name that clients see: at most `longest` characters, all of them `allowed`.
///
/// # Errors
/// When it is empty, too long, or has another character.
pub fn check_name(name: &str, longest: usize, allowed: fn(char) -> bool) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if let Some(character) = name.chars().find(|character| !allowed(*character)) {
        return Err(NameError::Character(character));
    }
    if name.len() > longest {
        return Err(NameError::TooLong(name.len(), longest));
    }
    Ok(())
}

/// Checks the name of a plugin, the stem of its file.
///
/// # Errors
/// When it is empty, too long, or has other characters than ASCII letters, digits, `_` and `-`.
pub fn plugin_name(stem: &str) -> Result<&str, NameError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    check_name(stem, LONGEST_PLUGIN, allowed).map(|()| stem)
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
