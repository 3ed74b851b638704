//! Mistakes in what an author writes are found by the compiler and explained in one sentence.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
