//! The echo for Wassette.

wit_bindgen::generate!({ path: "wit" });

struct Component;

impl Guest for Component {
    fn rivals_echo(message: String) -> String {
        message
    }
}

export!(Component);
