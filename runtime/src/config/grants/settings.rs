//! `config`: values that a plugin reads through `wasi:config`. `{ region = "eu", retries = 3 }`; on the command line
//! `config=KEY=VALUE`.
//!
//! The interface knows text only, so a number or a boolean is handed over as it would be written in TOML. Nobody guards
//! these values: what must not be seen is a secret.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::super::reader::{Entry, Reader};

/// Values of one plugin.
const MOST: usize = 256;

/// Longest key, bytes.
pub(super) const KEY: usize = 256;

/// All keys and values together, bytes: a guest may ask for all of them at once.
const TOTAL: usize = 256 << 10;

/// Values by key.
pub(super) type Settings = BTreeMap<String, String>;

/// Reads the table `config`.
pub(super) fn read(entry: Entry<'_>, settings: &mut Settings, reader: &mut Reader<'_>) {
    let Some(mut section) = entry.section(reader) else { return };
    for (key, entry) in section.take_all() {
        let added = match text(&entry.value) {
            Some(value) => add(&key, value, settings),
            None => {
                Err("must be a string, a number, a date, true or false; put more into a string".to_owned())
            }
        };
        if let Err(why) = added {
            reader.fault(entry.span, &entry.key, why);
        }
    }
}

/// The same from the command line.
pub(super) fn parse(text: &str, settings: &mut Settings) -> Result<(), String> {
    let (key, value) = text.split_once('=').ok_or("write config=KEY=VALUE")?;
    add(key, value.to_owned(), settings)
}

fn add(key: &str, value: String, settings: &mut Settings) -> Result<(), String> {
    if key.is_empty() || key.len() > KEY {
        return Err(format!("a key must have 1 to {KEY} bytes"));
    }
    if settings.contains_key(key) {
        return Err(format!("`{key}` is set twice; remove one"));
    }
    if settings.len() >= MOST {
        return Err(format!("a plugin may have at most {MOST} values"));
    }
    let used: usize = settings.iter().map(|(key, value)| key.len() + value.len()).sum();
    if used + key.len() + value.len() > TOTAL {
        return Err(format!("the values of a plugin may have at most {} KiB together", TOTAL >> 10));
    }
    settings.insert(key.to_owned(), value);
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
        let mut settings = Settings::new();
        parse("url=https://x?a=b", &mut settings).unwrap();
        assert_eq!(settings.get("url").map(String::as_str), Some("https://x?a=b"));
        for bad in ["url=again", "=x", "key", &format!("{}=x", "k".repeat(KEY + 1))] {
            assert!(parse(bad, &mut settings).is_err(), "{bad:?}");
        }
        assert!(add("large", "x".repeat(TOTAL), &mut settings).unwrap_err().contains("256 KiB"));
        (1..MOST).for_each(|n| add(&format!("k{n}"), String::new(), &mut settings).unwrap());
        assert!(add("more", String::new(), &mut settings).is_err());
    }
}
