//! The import that each of the grants of sampling, elicitation and roots opens.

use crate::capability::grant_trait::Import;

/// Several client requests at once.
pub(crate) const REQUESTS: Import = Import::new("plugport:plugin/inputs", "several client requests at once");
