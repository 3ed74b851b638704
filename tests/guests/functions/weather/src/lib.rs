//! The weather of a city, in the unit that the operator has set. It imports a draft of `wasi:config`, as components made
//! for other hosts do.

use wasi::config::store::{ConfigError, get, get_all};

wit_bindgen::generate!({ world: "weather", path: "wit", generate_all });

struct Weather;

impl Guest for Weather {
    fn describe(city: String) -> Result<String, String> {
        let unit = get("unit").map_err(reason)?.ok_or("the operator has set no unit")?;
        let settings = get_all().map_err(reason)?.len();
        Ok(format!("20 degrees {unit} in {city}, with {settings} settings"))
    }
}

fn reason(error: ConfigError) -> String {
    match error {
        ConfigError::Upstream(why) | ConfigError::Io(why) => why,
    }
}

export!(Weather);
