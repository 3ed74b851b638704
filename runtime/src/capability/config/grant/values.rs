//! `config`: values that a plugin reads through `wasi:config`. `{ region = "eu", retries = 3 }`; on the command line
//! `config=KEY=VALUE`.
//!
//! The interface knows text only, so a number or a boolean is handed over as it would be written in TOML. These values
//! are not protected: what must not be seen is a secret.

use std::collections::BTreeMap;

use toml::de::DeValue;

use crate::toml_reader::{TomlEntry, TomlReader};

/// Most values of one plugin.
const MAX_VALUES: usize = 256;

/// Longest key, bytes.
pub(super) const MAX_KEY: usize = 256;

/// Most bytes of all keys and values together: a guest may read all of them at once.
const MAX_TOTAL: usize = 256 << 10;

/// Values by key.
pub(crate) type ConfigValues = BTreeMap<String, String>;

/// Reads the table `config`.
pub(super) fn read(entry: TomlEntry<'_>, values: &mut ConfigValues, reader: &mut TomlReader<'_>) {
    let Some(mut table) = entry.table(reader) else { return };
    for (key, entry) in table.take_all() {
        let added = match text(&entry.value) {
            Some(value) => add(&key, value, values),
            None => {
                Err("must be a string, a number, a date, true or false; put more into a string".to_owned())
            }
        };
        if let Err(why) = added {
            reader.report(entry.span, &entry.key, why);
        }
    }
}

/// The same from the command line.
pub(super) fn parse(text: &str, values: &mut ConfigValues) -> Result<(), String> {
    let (key, value) = text.split_once('=').ok_or("write config=KEY=VALUE")?;
    add(key, value.to_owned(), values)
}

fn add(key: &str, value: String, values: &mut ConfigValues) -> Result<(), String> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(format!("a key must have 1 to {MAX_KEY} bytes"));
    }
    if values.contains_key(key) {
        return Err(format!("`{key}` is set twice; remove one"));
    }
    if values.len() >= MAX_VALUES {
        return Err(format!("a plugin may have at most {MAX_VALUES} values"));
    }
    let used: usize = values.iter().map(|(key, value)| key.len() + value.len()).sum();
    if used + key.len() + value.len() > MAX_TOTAL {
        return Err(format!("the values of a plugin may have at most {} KiB together", MAX_TOTAL >> 10));
    }
    values.insert(key.to_owned(), value);
    Ok(())
}

/// A single value as text. `None` for arrays and tables.
fn text(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace(['_', '+'], "");
            i128::from_str_radix(&digits, number.radix()).map_or(digits, |number| number.to_string())
        }
        DeValue::Float(number) => number.as_str().replace(['_', '+'], ""),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) | DeValue::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_bounds_in_number_and_size() {
        let mut values = ConfigValues::new();
        parse("url=https://x?a=b", &mut values).unwrap();
        assert_eq!(values.get("url").map(String::as_str), Some("https://x?a=b"));
        for bad in ["url=again", "=x", "key", &format!("{}=x", "k".repeat(MAX_KEY + 1))] {
            assert!(parse(bad, &mut values).is_err(), "{bad:?}");
        }
        assert!(add("large", "x".repeat(MAX_TOTAL), &mut values).unwrap_err().contains("256 KiB"));
        (1..MAX_VALUES).for_each(|n| add(&format!("k{n}"), String::new(), &mut values).unwrap());
        assert!(add("more", String::new(), &mut values).is_err());
    }
}
