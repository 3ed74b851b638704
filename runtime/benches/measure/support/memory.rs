//! The memory of this process.

/// Resident memory as most tools show it, bytes.
pub fn mapped() -> f64 {
    kib_line("/proc/self/status", "VmRSS:")
}

/// Resident memory, bytes: the proportional set size, in which a page that many instances share counts once.
pub fn resident() -> f64 {
    kib_line("/proc/self/smaps_rollup", "Pss:")
}

fn kib_line(file: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    1024.0 * line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
}
