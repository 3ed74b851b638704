//! `plugport:plugin/elicitation`: asks the person at the client.

pub(crate) mod grant;
