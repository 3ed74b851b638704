//! Finds all secrets of a plugin in one pass over a text: an Aho-Corasick automaton.
//!
//! The automaton contains the secrets, so it is wiped when it is dropped. No library does that.

use std::ops::Range;

use zeroize::{Zeroize, Zeroizing};

use super::MIN_LENGTH;

/// The mark that ends a text that was cut.
const CUT: &str = "…";

/// The index of the root, which stands for the empty prefix.
const ROOT: u32 = 0;

/// Finds the secrets of a redactor.
#[derive(PartialEq, Eq)]
pub(super) struct SecretMatcher {
    /// A tree of the prefixes of all secrets, one node per byte.
    nodes: Zeroizing<Vec<Node>>,
    /// For each byte, the node of the prefix that consists of this byte alone, or the root if no secret begins with it.
    /// It makes skipping all other bytes fast.
    first: [u32; 256],
    /// Length of the longest secret.
    longest: usize,
}

/// A prefix of one or more secrets; `byte` is its last byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Node {
    byte: u8,
    /// The first child of this node, and the next node with the same parent; the root stands for none.
    child: u32,
    sibling: u32,
    /// The node of the longest shorter prefix that is a suffix of this prefix.
    fallback: u32,
    /// Length of the prefix.
    depth: u32,
    /// Length of the longest secret with which this prefix ends, or 0.
    secret_len: u32,
}

impl Zeroize for Node {
    fn zeroize(&mut self) {
        self.byte.zeroize();
    }
}

impl SecretMatcher {
    pub(super) fn new(secrets: &[Zeroizing<Vec<u8>>]) -> Self {
        let total: usize = secrets.iter().map(|secret| secret.len()).sum();
        // Reserved at once: a vector that grows leaves a copy behind in memory that is not wiped.
        let mut nodes = Vec::with_capacity(total.saturating_add(1));
        nodes.push(Node::default());
        let mut matcher = Self { nodes: Zeroizing::new(nodes), first: [ROOT; 256], longest: 0 };
        matcher.longest = secrets.iter().map(|secret| secret.len()).max().unwrap_or(0);
        secrets.iter().for_each(|secret| matcher.insert(secret));
        matcher.connect();
        matcher
    }

    /// Length of the longest secret.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the ranges of all secrets that begin before `end`, in order; overlapping ranges are joined. A prefix of
    /// a secret counts as well if [`CUT`] follows it.
    pub(super) fn find(&self, text: &[u8], end: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if self.longest == 0 {
            return ranges;
        }
        let mut at = ROOT;
        for (index, byte) in text.iter().enumerate() {
            let cut = || text.get(index..).is_some_and(|tail| tail.starts_with(CUT.as_bytes()));
            let matched = self.node(at).depth as usize;
            if matched >= MIN_LENGTH && index < end + matched && cut() {
                push(&mut ranges, index - matched..index);
            }
            at = self.step(at, *byte);
            let Node { depth, secret_len, .. } = self.node(at);
            let next = index + 1;
            if index >= end && next - depth as usize >= end {
                break;
            }
            let start = next - secret_len as usize;
            if secret_len > 0 && start < end {
                push(&mut ranges, start..next);
            }
        }
        ranges
    }

    fn node(&self, at: u32) -> Node {
        self.nodes.get(at as usize).copied().unwrap_or_default()
    }

    fn insert(&mut self, secret: &[u8]) {
        let mut at = ROOT;
        for byte in secret {
            at = match self.follower(at, *byte) {
                Some(next) => next,
                None => self.add(at, *byte),
            };
        }
        if let Some(last) = self.nodes.get_mut(at as usize) {
            last.secret_len = last.depth;
        }
    }

    /// Adds a child with this byte to the node `parent`.
    fn add(&mut self, parent: u32, byte: u8) -> u32 {
        let new = self.nodes.len() as u32;
        let Node { child: sibling, depth, .. } = self.node(parent);
        self.nodes.push(Node { byte, sibling, depth: depth + 1, ..Node::default() });
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            parent.child = new;
        }
        if parent == ROOT
            && let Some(first) = self.first.get_mut(usize::from(byte))
        {
            *first = new;
        }
        new
    }

    /// Sets the fallback of each node, in order of depth, because a node's fallback depends on nodes above it.
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
            let secret_len = self.node(fallback).secret_len;
            if let Some(node) = self.nodes.get_mut(at as usize) {
                node.fallback = fallback;
                node.secret_len = node.secret_len.max(secret_len);
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

    /// Returns the next state: the node of the longest prefix with which the text ends after `byte`, from the state
    /// `at`.
    fn step(&self, mut at: u32, byte: u8) -> u32 {
        while at != ROOT {
            if let Some(next) = self.follower(at, byte) {
                return next;
            }
            at = self.node(at).fallback;
        }
        self.first.get(usize::from(byte)).copied().unwrap_or(ROOT)
    }

    fn follower(&self, at: u32, byte: u8) -> Option<u32> {
        if at == ROOT {
            return self.first.get(usize::from(byte)).copied().filter(|first| *first != ROOT);
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

/// Adds a range that ends after all other ranges, and joins it with those that it overlaps.
fn push(ranges: &mut Vec<Range<usize>>, mut new: Range<usize>) {
    while let Some(last) = ranges.pop_if(|last| last.end > new.start) {
        new.start = new.start.min(last.start);
    }
    ranges.push(new);
}

impl Default for SecretMatcher {
    fn default() -> Self {
        Self { nodes: Zeroizing::default(), first: [ROOT; 256], longest: 0 }
    }
}
