//! The languages of plugins: what arguments mean in each of them, every feature and every interface of the host in
//! each language, tasks, the project that `plugport new` writes for each, what `plugport dev` serves of it, function
//! tools, settings for cargo, and what plugins import.
//!
//! What the commands `new` and `build` do without a compiler is in `cli`, and the example plugins are in
//! `example_plugins`.

mod any_language;
mod argument_types;
mod cargo_settings;
mod dev_sources;
mod function_tool_types;
mod function_tools;
mod go_memory;
mod host_interfaces;
mod imports;
mod reproducible_builds;
mod sdk_features;
mod tasks;
mod template_readmes;
