//! The smallest plugin there is: one function, published as one tool. The README beside it is the tutorial.

use plugport_sdk::prelude::*;

/// Greet someone by name.
#[tool(read_only, idempotent)]
fn hello(
    /// Who to greet.
    name: String,
) -> String {
    format!("Hello, {name}!")
}

plugport_sdk::export! { tools: [hello] }

#[cfg(test)]
mod tests {
    use plugport_sdk::testing::invoke;
    use serde_json::json;

    use super::*;

    #[test]
    fn greets_by_name() {
        assert_eq!(hello("Ada".to_owned()), "Hello, Ada!");
    }

    #[test]
    fn is_called_through_json_as_the_host_does() {
        assert_eq!(invoke::<super::hello>(json!({"name": "Ada"})).text(), "Hello, Ada!");
        assert!(invoke::<super::hello>(json!({})).is_error());
    }
}
