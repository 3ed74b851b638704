//! What plugins are written in: every feature of the SDK in each language, the project that `plugport new` writes in each
//! language, and components that know nothing of MCP, whose functions are tools.
//!
//! What the commands `new` and `build` do without a compiler is in `cli`, and the example plugins are in `example_plugins`.

mod function_tool_types;
mod function_tools;
mod sdk_features;
mod template_readmes;
