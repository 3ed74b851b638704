//! `cargo measure rivals` builds and starts this: the driver.

fn main() -> anyhow::Result<()> {
    plugport_rivals::driver::run(std::env::args().skip(1))
}
