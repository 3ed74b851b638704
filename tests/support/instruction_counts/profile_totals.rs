//! The totals of one profile that callgrind wrote.
//!
//! A profile is text. It names each function once, as `(ID) NAME`, and by `(ID)` afterwards. A line `calls=COUNT ...`
//! follows the line `cfn=` with the function that was called.

use std::collections::HashSet;

/// The functions of the C library that allocate, which Rust's allocator calls.
const ALLOCATING: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];

/// What a profile counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileTotals {
    pub instructions: u64,
    /// Calls of functions that allocate; `realloc` is one too.
    pub allocations: u64,
}

impl ProfileTotals {
    /// Reads a profile; `None` if the text is something else.
    pub fn parse(profile: &str) -> Option<Self> {
        let (mut allocating, mut is_allocating) = (HashSet::new(), false);
        let (mut instructions, mut allocations) = (None, 0);
        for line in profile.lines() {
            let (key, value) = line.split_once(['=', ':']).unwrap_or((line, ""));
            match key {
                "fn" | "cfn" => {
                    let (id, name) = value.split_once(')')?;
                    if ALLOCATING.contains(&name.trim()) {
                        allocating.insert(id);
                    }
                    is_allocating = key == "cfn" && allocating.contains(id);
                }
                "calls" if is_allocating => allocations += first_number(value)?,
                "totals" => instructions = Some(first_number(value)?),
                _ => {}
            }
        }
        Some(Self { instructions: instructions?, allocations })
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
# callgrind format
version: 1
cmd:  ./plugport serve
positions: line
events: Ir
summary: 900

fl=(1) alloc.rs
fn=(1) __rust_alloc
16 20
cfi=(2) malloc.c
cfn=(2) malloc
calls=7 0
16 300
cfn=(3) realloc
calls=2 +4
* 100

fn=(2)
5 80
cfn=(4) malloc_consolidate
calls=50 12
+1 200

fn=(5) serve
cfn=(2)
calls=3 0
20 200

totals: 905
";

    #[test]
    fn calls_of_allocating_functions_are_added_up_by_name_and_by_number() {
        assert_eq!(ProfileTotals::parse(PROFILE), Some(ProfileTotals { instructions: 905, allocations: 12 }));
    }

    #[test]
    fn what_is_no_whole_profile_has_no_totals() {
        for text in ["", "# callgrind format\n", PROFILE.split_once("totals").unwrap().0] {
            assert_eq!(ProfileTotals::parse(text), None);
        }
    }
}
