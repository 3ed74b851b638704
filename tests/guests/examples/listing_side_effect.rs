//! Writes a file into its directory whenever it is listed, and fails to list without the directory.

use plugport_sdk::prelude::*;

/// What a mark says.
#[resource_template("mark:///{name}", name = "mark", list = listed)]
fn mark(name: String) -> Result<Option<String>, Error> {
    Ok(std::fs::read_to_string(format!("/marks/{name}")).ok())
}

fn listed() -> Result<Vec<ResourceInfo>, Error> {
    std::fs::write("/marks/listed", "was listed")
        .map_err(|error| Error::Internal(format!("cannot leave a mark: {error}")))?;
    Ok(vec![ResourceInfo::new("mark:///listed", "listed")])
}

plugport_sdk::export! { resources: [mark] }
