//! JSON that keeps how its numbers are written, since `1.0`, `1e18` and `9007199254740993` are the point here.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Boolean(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// As JSON text, with all letters beyond ASCII as escapes if `escaped`.
    pub fn write(&self, escaped: bool) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::Number(digits) => digits.clone(),
            Self::Text(text) => write_text(text, escaped),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.write(escaped)).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}:{}", write_text(name, escaped), value.write(escaped))
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// As serde_json reads it.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.write(false)).unwrap()
    }
}

fn write_text(text: &str, escaped: bool) -> String {
    let plain = serde_json::to_string(text).unwrap();
    if !escaped {
        return plain;
    }
    let mut out = String::new();
    for letter in plain.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_written_and_letters_may_be_escapes() {
        let list = Json::List(vec![Json::Number("1.0e3".to_owned()), Json::text("é😀\n"), Json::Null]);
        let object = Json::Object(vec![("ß".to_owned(), list)]);
        assert_eq!(object.write(false), "{\"ß\":[1.0e3,\"é😀\\n\",null]}");
        assert_eq!(object.write(true), "{\"\\u00df\":[1.0e3,\"\\u00e9\\ud83d\\ude00\\n\",null]}");
        assert_eq!(object.value()["ß"][1], "é😀\n");
    }
}
