//! Prompts.

use std::collections::HashSet;

use super::super::published_name;
use super::{CommonFields, InvalidItem, short};
use crate::config::fixed_limits::PROMPT_ARGUMENTS;
use crate::json::RawObject;
use crate::plugin::{Prompt, PromptArgument};

/// Checks one prompt; its public name and its further fields.
pub(in super::super) fn validate(prompt: &Prompt, prefix: &str) -> Result<(String, RawObject), InvalidItem> {
    let name = published_name::public(prefix, &prompt.name)?;
    let common = CommonFields {
        name: "",
        title: prompt.title.as_deref(),
        description: prompt.description.as_deref(),
        extra: prompt.extra.as_deref(),
    };
    let extra = common.check()?;
    check_arguments(&prompt.arguments)?;
    Ok((name, extra))
}

fn check_arguments(arguments: &[PromptArgument]) -> Result<(), InvalidItem> {
    if arguments.len() > PROMPT_ARGUMENTS {
        return Err(InvalidItem::Arguments);
    }
    let mut seen = HashSet::new();
    for argument in arguments {
        if argument.name.is_empty() {
            return Err(InvalidItem::Nameless);
        }
        if !seen.insert(argument.name.as_str()) {
            return Err(InvalidItem::Twice);
        }
        short("argument's name", Some(&argument.name))?;
        let common = CommonFields {
            name: "",
            title: argument.title.as_deref(),
            description: argument.description.as_deref(),
            extra: None,
        };
        common.check()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(arguments: &[&str]) -> Prompt {
        let argument = |name: &&str| PromptArgument {
            name: (*name).into(),
            title: None,
            description: None,
            required: false,
        };
        Prompt {
            name: "ask".into(),
            title: None,
            description: None,
            arguments: arguments.iter().map(argument).collect(),
            extra: None,
        }
    }

    fn fault(prompt: &Prompt) -> String {
        validate(prompt, "p").unwrap_err().to_string()
    }

    #[test]
    fn a_prompt_is_named_like_a_tool() {
        assert_eq!(validate(&prompt(&["a", "b"]), "p").unwrap().0, "p-ask");
        assert!(fault(&Prompt { name: "a b".into(), ..prompt(&[]) }).contains("the name has the character"));
    }

    #[test]
    fn arguments_are_few_distinct_and_readable() {
        assert!(fault(&prompt(&["a", "a"])).contains("two arguments"));
        assert!(fault(&prompt(&[""])).contains("has no name"));
        assert!(fault(&prompt(&["a\u{200b}"])).contains("argument's name"));
        let names: Vec<String> = (0..33).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(fault(&prompt(&names)).contains("more than 32 arguments"));
    }
}
