//! Finds all secrets of a plugin in one pass over a text: an Aho-Corasick automaton.
//!
//! It is made of secrets, so it is wiped when it is dropped, which no library does.

use std::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use super::SHORTEST;

/// What stands where a text was cut.
const CUT: &str = "…";

/// The place before the first byte of every needle.
const ROOT: u32 = 0;

/// The secrets that a redactor looks for.
#[derive(PartialEq, Eq)]
pub(super) struct SecretMatcher {
    /// A tree of their beginnings, each byte a node.
    nodes: Zeroizing<Vec<Node>>,
    /// The node of each byte that a needle begins with, or the root: what passes over all others is fast.
    begins: [u32; 256],
    /// Length of the longest.
    longest: usize,
}

/// A byte of one or more needles that begin alike.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Node {
    byte: u8,
    /// The first byte that may follow, and another that may stand in this one's place; the root where there is none.
    child: u32,
    sibling: u32,
    /// Where the longest other beginning ends that the text before could be, too.
    fallback: u32,
    /// Bytes from the root.
    depth: u32,
    /// Length of the longest needle that ends here, or none.
    hides: u32,
}

impl Zeroize for Node {
    fn zeroize(&mut self) {
        self.byte.zeroize();
    }
}

impl SecretMatcher {
    pub(super) fn new(needles: &[Zeroizing<Vec<u8>>]) -> Self {
        let most: usize = needles.iter().map(|needle| needle.len()).sum();
        // In one piece from the beginning: what a vector leaves behind when it grows is not wiped.
        let mut nodes = Vec::with_capacity(most.saturating_add(1));
        nodes.push(Node::default());
        let mut made = Self { nodes: Zeroizing::new(nodes), begins: [ROOT; 256], longest: 0 };
        made.longest = needles.iter().map(|needle| needle.len()).max().unwrap_or(0);
        needles.iter().for_each(|needle| made.insert(needle));
        made.connect();
        made
    }

    /// Length of the longest.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Where needles begin before `end`, those that overlap as one, in order. Also what may be the beginning of one,
    /// where the text says that somebody cut it.
    pub(super) fn find(&self, text: &[u8], end: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.longest == 0 {
            return found;
        }
        let mut at = ROOT;
        for (place, byte) in text.iter().enumerate() {
            let cut = || text.get(place..).is_some_and(|rest| rest.starts_with(CUT.as_bytes()));
            let begun = self.node(at).depth as usize;
            if begun >= SHORTEST && place < end + begun && cut() {
                push(&mut found, place - begun..place);
            }
            at = self.step(at, *byte);
            let Node { depth, hides, .. } = self.node(at);
            let next = place + 1;
            if place >= end && next - depth as usize >= end {
                break;
            }
            let start = next - hides as usize;
            if hides > 0 && start < end {
                push(&mut found, start..next);
            }
        }
        found
    }

    fn node(&self, at: u32) -> Node {
        self.nodes.get(at as usize).copied().unwrap_or_default()
    }

    fn insert(&mut self, needle: &[u8]) {
        let mut at = ROOT;
        for byte in needle {
            at = match self.follower(at, *byte) {
                Some(next) => next,
                None => self.add(at, *byte),
            };
        }
        if let Some(last) = self.nodes.get_mut(at as usize) {
            last.hides = last.depth;
        }
    }

    /// Adds a byte behind the node `parent`.
    fn add(&mut self, parent: u32, byte: u8) -> u32 {
        let new = self.nodes.len() as u32;
        let Node { child: sibling, depth, .. } = self.node(parent);
        self.nodes.push(Node { byte, sibling, depth: depth + 1, ..Node::default() });
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            parent.child = new;
        }
        if parent == ROOT
            && let Some(begins) = self.begins.get_mut(usize::from(byte))
        {
            *begins = new;
        }
        new
    }

    /// Finds where the search goes on after each node: those nearer to the root first, which the others need.
    fn connect(&mut self) {
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(self.nodes.len());
        self.children(ROOT, &mut order);
        let mut next = 0;
        while let Some((parent, at)) = order.get(next).copied() {
            next += 1;
            let fallback = match parent {
                ROOT => ROOT,
                parent => self.step(self.node(parent).fallback, self.node(at).byte),
            };
            let hides = self.node(fallback).hides;
            if let Some(node) = self.nodes.get_mut(at as usize) {
                node.fallback = fallback;
                node.hides = node.hides.max(hides);
            }
            self.children(at, &mut order);
        }
    }

    fn children(&self, parent: u32, order: &mut Vec<(u32, u32)>) {
        let mut at = self.node(parent).child;
        while at != ROOT {
            order.push((parent, at));
            at = self.node(at).sibling;
        }
    }

    /// The longest beginning of a needle that the text ends with, now that it has another byte.
    fn step(&self, mut at: u32, byte: u8) -> u32 {
        while at != ROOT {
            if let Some(next) = self.follower(at, byte) {
                return next;
            }
            at = self.node(at).fallback;
        }
        self.begins.get(usize::from(byte)).copied().unwrap_or(ROOT)
    }

    fn follower(&self, at: u32, byte: u8) -> Option<u32> {
        if at == ROOT {
            return self.begins.get(usize::from(byte)).copied().filter(|begins| *begins != ROOT);
        }
        let mut next = self.node(at).child;
        while next != ROOT {
            let node = self.node(next);
            if node.byte == byte {
                return Some(next);
            }
            next = node.sibling;
        }
        None
    }
}

/// Adds one that ends behind all before it, and may begin before some of them.
fn push(found: &mut Vec<Range<usize>>, mut new: Range<usize>) {
    while let Some(last) = found.pop_if(|last| last.end > new.start) {
        new.start = new.start.min(last.start);
    }
    found.push(new);
}

impl Default for SecretMatcher {
    fn default() -> Self {
        Self { nodes: Zeroizing::default(), begins: [ROOT; 256], longest: 0 }
    }
}
