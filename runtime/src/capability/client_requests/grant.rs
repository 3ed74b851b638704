//! What the grants of sampling, elicitation and roots open together.

use crate::capability::grant::Import;

/// Several requests to the client at once, which each grant to ask it opens.
pub(crate) const REQUESTS: Import =
    Import::new("plugport:plugin/inputs", "several questions to the client at once");
