//! A plugin with one tool, which takes arguments, logs, and asks the person at the client.

use plugport_sdk::prelude::*;

/// The form that the person is shown.
#[data]
struct Who {
    /// Whom to greet.
    name: String,
}

/// Greet someone by name.
#[tool(read_only)]
fn hello(
    call: &Call,
    /// Whom to greet. The person at the client is asked when it is left out.
    name: Option<String>,
    /// Whether to greet in capital letters.
    #[arg(default = false)]
    shout: bool,
) -> Result<String, Error> {
    let name = match name {
        Some(name) => name,
        None => match call.elicit::<Who>("Whom shall I greet?")? {
            ElicitResult::Accepted(who) => who.name,
            ElicitResult::Declined | ElicitResult::Cancelled => "whoever you are".to_owned(),
        },
    };
    call.info(format!("greeting {name}"));
    let greeting = format!("Hello, {name}!");
    Ok(if shout { greeting.to_uppercase() } else { greeting })
}

plugport_sdk::export! { tools: [hello] }

#[cfg(test)]
mod tests {
    use plugport_sdk::serde_json::json;
    use plugport_sdk::testing::{TestClient, invoke};

    #[test]
    fn greets_by_name() {
        let outcome = invoke::<super::hello>(json!({"name": "Ada"}));
        assert_eq!(outcome.text(), "Hello, Ada!");
        assert_eq!(outcome.logs()[0].data, "greeting Ada");
        assert_eq!(invoke::<super::hello>(json!({"name": "Ada", "shout": true})).text(), "HELLO, ADA!");
    }

    #[test]
    fn asks_for_a_name_that_is_missing() {
        let person = TestClient::new().accepts(json!({"name": "Bob"}));
        assert_eq!(person.invoke::<super::hello>(json!({})).text(), "Hello, Bob!");
        let nobody = TestClient::new().declines();
        assert_eq!(nobody.invoke::<super::hello>(json!({})).text(), "Hello, whoever you are!");
    }
}
