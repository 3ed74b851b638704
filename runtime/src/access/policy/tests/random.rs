//! Random roles, items and paths, the same in every run.

use crate::config::{
    AllowedValue, ArgumentCondition, ArgumentPointer, ItemConditions, ItemKind, ItemPattern, PathGlob,
    RoleConfig, Rule, WhoPattern,
};

/// Names of plugins, one of which is also the name of a tool.
pub(super) const PLUGINS: [&str; 4] = ["a", "ab", "a-b", "b"];

/// Published names of tools and prompts.
pub(super) const NAMES: [&str; 6] = ["a-b", "a-c", "ab-b", "ab-cb", "b-b", "a-b-c"];

/// URIs, some of which are equivalent spellings of others.
pub(super) const URIS: [&str; 8] =
    ["a:x", "a:x/y", "a:%78%2Fy", "a:x//y", "ab:../x", "ab:x/%2e%2e/y", "b://h/x", "a:*"];

/// Texts of templates.
pub(super) const TEMPLATES: [&str; 3] = ["a:{id}", "a:x/{id}", "b://h/{+path}"];

const PATTERNS: [&str; 34] = [
    "*",
    "a",
    "ab",
    "a-b",
    "b",
    "a-*",
    "*-b",
    "*b*",
    "a*b*c",
    "tool:a-b",
    "tool:a*",
    "tool:*",
    "prompt:a-b",
    "prompt:*b",
    "prompt:*",
    "plugin:a",
    "plugin:a*",
    "plugin:*b",
    "resource:a:x",
    "resource:a:x*",
    "resource:a:x/*",
    "resource:*y",
    "resource:a:%2A",
    "resource:b://*",
    "resource:*",
    "template:a:{id}",
    "template:a:*",
    "template:*path}",
    "template:*",
    "hint:read-only",
    "hint:destructive",
    "hint:idempotent",
    "hint:open-world",
    "nothing",
];

const WHO: [&str; 8] =
    ["anyone", "authenticated", "group:g1", "group:g2", "scope:s1", "token:t", "stdio", "address:10.0.0.0/8"];

const PATHS: [&str; 6] = ["/data/**", "/data/*", "**", "*", "/**/x", "/data/a"];

/// The generator SplitMix64.
pub(crate) struct Random(pub(super) u64);

impl Random {
    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end as u64).unwrap()
    }

    pub(super) fn half(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(super) fn pattern(&mut self) -> Rule<ItemPattern> {
        let text = self.one_of(&PATTERNS);
        Rule { value: ItemPattern::parse(text).unwrap(), text: text.into(), line: self.below(100) }
    }

    fn patterns(&mut self, most: usize) -> Vec<Rule<ItemPattern>> {
        (0..self.below(most + 1)).map(|_| self.pattern()).collect()
    }

    fn condition(&mut self, pointer: &str) -> ArgumentCondition {
        ArgumentCondition {
            pointer: ArgumentPointer::parse(pointer).unwrap(),
            values: vec![AllowedValue::Text(PathGlob::parse(self.one_of(&PATHS)).unwrap())],
            may_be_absent: self.half(),
            line: self.below(100),
        }
    }

    fn conditions(&mut self) -> ItemConditions {
        let mut arguments = vec![self.condition("/path")];
        if self.half() {
            arguments.push(self.condition("/to/0"));
        }
        ItemConditions { item: self.pattern(), arguments }
    }

    /// A role that may be empty, which the configuration does not allow.
    pub(super) fn role(&mut self, name: &str) -> RoleConfig {
        let who = (0..1 + self.below(2)).map(|_| {
            let text = self.one_of(&WHO);
            Rule { value: WhoPattern::parse(text).unwrap(), text: text.into(), line: 1 }
        });
        RoleConfig {
            name: name.to_owned(),
            who: who.collect(),
            allow: self.patterns(5),
            deny: if self.half() { self.patterns(2) } else { Vec::new() },
            when: (0..self.below(3)).map(|_| self.conditions()).collect(),
            quota: None,
        }
    }

    pub(super) fn kind(&mut self) -> ItemKind {
        self.one_of(&[ItemKind::Tool, ItemKind::Resource, ItemKind::Template, ItemKind::Prompt])
    }

    /// A path of few segments, most of which try to leave the folder.
    pub(super) fn path(&mut self) -> String {
        const SEGMENTS: [&str; 14] =
            ["data", "data", "a", "x", "..", ".", "", "..;", ".. ", "%2e%2e", "a%2fb", "a\\b", "...", "a.b"];
        let segments: Vec<&str> = (0..1 + self.below(5)).map(|_| self.one_of(&SEGMENTS)).collect();
        let slash = if self.half() { "/" } else { "" };
        format!("{slash}{}", segments.join("/"))
    }
}
