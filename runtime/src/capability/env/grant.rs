//! `env`: variables of the server's own environment, one by one, or variables with a value given here.
//! `["LANG", { TZ = "UTC" }]`; on the command line `env=NAME` or `env=NAME=VALUE`.
//!
//! No form grants all variables: an environment holds the secrets of the process that started the server. A variable
//! that is not set is absent in the guest too, as programs must expect anywhere; a warning tells the operator.

use std::path::Path;

use toml::de::DeValue;

use crate::capability::grant_trait::{
    Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import, list,
};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Most variables of one plugin.
const MAX_VARIABLES: usize = 64;

/// Longest name, bytes.
const MAX_NAME: usize = 128;

/// Longest value, bytes.
const MAX_VALUE: usize = 32 << 10;

/// One variable, as the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name, the same in the server and in the guest.
    pub name: String,
    /// Its value; `None` when the server does not have it.
    pub value: Option<String>,
}

/// The variables of one plugin.
pub(crate) type Granted = Vec<EnvVar>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["env"];
    const FORMS: &'static [&'static str] = &["env=NAME", "env=NAME=VALUE"];
    const IMPORTS: &'static [Import] =
        &[Import { prefix: "wasi:cli/environment", what: "environment variables", is_common: true }];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        for entry in entry.array(reader) {
            read_element(entry, self, reader);
        }
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        parse(option.value, self).map_err(|why| option.error(why))
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        let variables = self.iter().map(|variable| variable.name.clone());
        sentences.extend(list("env", "see the variables", variables));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.iter().all(|own| other.iter().any(|theirs| theirs.name == own.name))
    }

    fn warnings(&self) -> Vec<String> {
        let unset = self.iter().filter(|variable| variable.value.is_none());
        let warning = |EnvVar { name, .. }: &EnvVar| {
            format!(
                "the variable {name} is granted but not set in the server's environment, so the plugin lacks it"
            )
        };
        unset.map(warning).collect()
    }
}

/// Reads an element of the array `env`, and adds what it says.
fn read_element(entry: TomlEntry<'_>, variables: &mut Vec<EnvVar>, reader: &mut TomlReader<'_>) {
    let (key, span) = (entry.key.clone(), entry.span.clone());
    if matches!(entry.value, DeValue::String(_)) {
        let Some(name) = entry.string(reader) else { return };
        if let Err(why) = inherit(&name, variables) {
            reader.report(span, &key, why);
        }
        return;
    }
    let Some(mut table) = entry.table(reader) else { return };
    for (name, entry) in table.take_all() {
        let Some(value) = entry.string(reader) else { continue };
        if let Err(why) = add_variable(&name, Some(value), variables) {
            reader.report(entry.span, &entry.key, why);
        }
    }
}

/// The same from the command line.
fn parse(text: &str, variables: &mut Vec<EnvVar>) -> Result<(), String> {
    match text.split_once('=') {
        Some((name, value)) => add_variable(name, Some(value.to_owned()), variables),
        None => inherit(text, variables),
    }
}

fn inherit(name: &str, variables: &mut Vec<EnvVar>) -> Result<(), String> {
    // The name is checked first: the system's own function does not accept every name.
    check(name)?;
    let value = std::env::var_os(name).map(std::ffi::OsString::into_string).transpose();
    let value = value.map_err(|_| format!("the server's variable `{name}` is not text; set it again"))?;
    add_variable(name, value, variables)
}

fn add_variable(name: &str, value: Option<String>, variables: &mut Vec<EnvVar>) -> Result<(), String> {
    check(name)?;
    if value.as_ref().is_some_and(|value| value.len() > MAX_VALUE || value.contains('\0')) {
        return Err(format!("the value of `{name}` must have at most {MAX_VALUE} bytes and no NUL"));
    }
    if variables.iter().any(|other| other.name == name) {
        return Err(format!("`{name}` is granted twice; remove one"));
    }
    if variables.len() >= MAX_VARIABLES {
        return Err(format!("a plugin may have at most {MAX_VARIABLES} variables"));
    }
    variables.push(EnvVar { name: name.to_owned(), value });
    Ok(())
}

fn check(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|first| plain(first) && !first.is_ascii_digit());
    if begins && name.len() <= MAX_NAME && name.bytes().all(plain) {
        return Ok(());
    }
    Err(format!("`{name}` is no name of a variable; name them one by one, with letters, digits and `_`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_one_by_one() {
        let mut variables = Vec::new();
        parse("PATH", &mut variables).unwrap();
        parse("PLUGPORT_NO_SUCH_VARIABLE", &mut variables).unwrap();
        parse("TZ=UTC=1", &mut variables).unwrap();
        let values: Vec<_> = variables.iter().map(|variable| variable.value.as_deref()).collect();
        assert_eq!(values, [std::env::var_os("PATH").unwrap().to_str(), None, Some("UTC=1")]);
        assert!(parse("TZ=UTC", &mut variables).unwrap_err().contains("twice"));
        for bad in ["", "*", "A B", "1A", "LANG,TZ", "Ä", "=x", "A\0", &"A".repeat(MAX_NAME + 1)] {
            assert!(parse(bad, &mut variables).is_err(), "{bad:?}");
        }
        assert!(add_variable("A", Some("x".repeat(MAX_VALUE + 1)), &mut variables).is_err());
        assert_eq!(variables.len(), 3);
        (3..MAX_VARIABLES).for_each(|n| add_variable(&format!("V{n}"), None, &mut variables).unwrap());
        assert!(add_variable("ONE_MORE", None, &mut variables).is_err());
    }
}
