//! Arguments mean the same in every language: random types and values of one seed, compared with a model.
//!
//! `cargo run -p plugport-tests --bin argument_types` compares far more.

use plugport_tests::argument_types::{Comparison, Difference};
use plugport_tests::languages::Lang;
use plugport_tests::toolchain;

/// 40 types take as long to build as 10, and 50 calls of each a second.
const COMPARISON: Comparison = Comparison { seed: 16, types: 40, calls_of_each: 50 };

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_rust() {
    compare(Lang::Rust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_typescript() {
    compare(Lang::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_javascript() {
    compare(Lang::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_python() {
    compare(Lang::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_go() {
    compare(Lang::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_mean_the_same_in_c() {
    compare(Lang::C).await;
}

async fn compare(lang: Lang) {
    let _build = toolchain::project_build().await;
    let Some((_, differences)) = COMPARISON.run(lang).await else { return };
    let shown: Vec<String> = differences.iter().take(5).map(Difference::to_string).collect();
    assert!(differences.is_empty(), "{} differences, among them:\n{}", differences.len(), shown.join("\n"));
}
