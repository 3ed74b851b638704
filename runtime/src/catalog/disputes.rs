//! Who gets what several plugins want.
//!
//! What a name or URI says of itself comes first: what belongs to one plugin is refused to all others. Of the rest the one
//! gets it that has the better right: the operator's file names it, or it was approved. Of those that the operator gave one
//! prefix the one gets it that is called so. Between two that the operator names
//! the first one by name does, since somebody knows both; between two of whom nothing is known neither does, since all else
//! would be a guess that a stranger can prepare for. Keys that could be taken for one another are one, and a template has all
//! that begins as it does.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::Refused;
use super::list::{Item, Kind};
use super::owners::{Owners, Right, Taken};

/// One plugin that wants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contender<'e> {
    right: Right,
    plugin: &'e str,
    key: &'e str,
}

/// The best of those that want the same, and the best one of another plugin than its.
#[derive(Debug, Clone, Copy, Default)]
struct Contenders<'e> {
    first: Option<Contender<'e>>,
    second: Option<Contender<'e>>,
}

/// What is to be joined, and what came of it.
pub(super) struct Disputes<'e> {
    owners: &'e Owners,
    /// What plugins may not have, by plugin.
    pub(super) refused: HashMap<String, Vec<Refused>>,
}

/// Which plugin may answer for a URI, by how it looks; nobody, where nothing says whose it is.
pub(super) type Listed = HashMap<String, Option<String>>;

/// An item with what decides about it.
struct Wanted<'e, T> {
    item: &'e Arc<T>,
    right: Right,
    look: String,
}

impl<'e> Contenders<'e> {
    fn add(&mut self, one: Contender<'e>) {
        let better = |known: Contender<'_>| (one.right, known.plugin) > (known.right, one.plugin);
        match self.first {
            Some(first) if first.plugin == one.plugin => {
                if one.right > first.right {
                    self.first = Some(one);
                }
            }
            Some(first) if !better(first) => match self.second {
                Some(second) if !better(second) => {}
                _ => self.second = Some(one),
            },
            first => {
                self.first = Some(one);
                self.second = first;
            }
        }
    }

    fn join(mut self, others: &Self) -> Self {
        [others.first, others.second].into_iter().flatten().for_each(|other| self.add(other));
        self
    }

    /// Who gets it.
    fn winner<T: Item>(&self) -> Option<&'e str> {
        let first = self.first?;
        let loses = self.second.and_then(|second| first.loses::<T>(&second));
        if loses.is_some() { None } else { Some(first.plugin) }
    }

    /// The best one of another plugin.
    fn against(&self, plugin: &str) -> Option<Contender<'e>> {
        self.first.filter(|first| first.plugin != plugin).or(self.second)
    }
}

impl<'e> Contender<'e> {
    fn of<T: Item>(item: &'e T, right: Right) -> Self {
        Self { right, plugin: item.owner(), key: item.key() }
    }

    /// Why it does not get what the other wants too.
    fn loses<T: Item>(&self, other: &Self) -> Option<Taken> {
        let (word, key, plugin) = (T::KIND.key_word(), self.key, other.plugin);
        let same = match (key == other.key, T::KIND) {
            (true, _) => format!("the {word} `{key}` belongs to the plugin `{plugin}`"),
            (false, Kind::Template) => {
                format!("the {word} `{key}` has URIs of `{}` of the plugin `{plugin}`", other.key)
            }
            (false, _) => format!("the {word} `{key}` looks like `{}` of the plugin `{plugin}`", other.key),
        };
        let why = match (self.right, other.right) {
            (own, others) if own > others => return None,
            (own, others) if own < others => format!("{same}, which {}", reason(others)),
            (Right::Stranger | Right::Approved, _) => {
                let own = self.plugin;
                let why = format!(
                    "{same} with the same right; name one of them in plugport.toml, by a section [plugins.{own}] or \
                     [plugins.{plugin}]"
                );
                return Some(Taken { owner: None, why });
            }
            _ if self.plugin < other.plugin => return None,
            _ => format!("{same}, which comes first by name"),
        };
        Some(Taken { owner: Some(plugin.to_owned()), why })
    }
}

fn reason(right: Right) -> &'static str {
    match right {
        Right::Owner | Right::Namesake => "it names",
        Right::Named => "the configuration names",
        Right::Approved | Right::Stranger => "was approved",
    }
}

impl<'e> Disputes<'e> {
    pub(super) fn new(owners: &'e Owners) -> Self {
        Self { owners, refused: HashMap::new() }
    }

    /// Which tools or prompts are published.
    pub(super) fn names<T: Item>(&mut self, offered: impl Iterator<Item = &'e Arc<T>>) -> Vec<Arc<T>> {
        let wanted = self.wanted(offered);
        self.settle(wanted, |_| None).0
    }

    /// Which templates are published.
    pub(super) fn templates<T: Item>(
        &mut self,
        offered: impl Iterator<Item = &'e Arc<T>>,
    ) -> (Vec<Arc<T>>, Leads<'e>) {
        let wanted = self.wanted(offered);
        let leads = Leads::new(wanted.iter().map(|one| {
            let contender = Contender::of(&**one.item, one.right);
            (one.look.clone(), contender)
        }));
        let mut passed = Vec::new();
        for Wanted { item, right, look } in wanted {
            let own = Contender::of(&**item, right);
            let other = leads.around(&look).and_then(|around| around.against(own.plugin));
            match other.and_then(|other| own.loses::<T>(&other)) {
                None => passed.push(Arc::clone(item)),
                Some(taken) => self.refuse(&**item, taken),
            }
        }
        (passed, leads)
    }

    /// Which resources are published beside these templates, and who may answer for URIs that look like theirs.
    pub(super) fn resources<T: Item>(
        &mut self,
        offered: impl Iterator<Item = &'e Arc<T>>,
        templates: &Leads<'e>,
    ) -> (Vec<Arc<T>>, Listed) {
        let wanted = self.wanted(offered);
        let (passed, groups) = self.settle(wanted, |one| {
            let own = Contender::of(&**one.item, one.right);
            let template = templates.above(&one.look).and_then(|above| above.against(own.plugin));
            let template = template.filter(|template| template.right > own.right)?;
            let (key, of, plugin) = (own.key, template.key, template.plugin);
            let why = format!(
                "the URI `{key}` is one of `{of}` of the plugin `{plugin}`, which {}",
                reason(template.right)
            );
            Some(Taken { owner: Some(plugin.to_owned()), why })
        });
        let listed = groups.into_iter().map(|(look, group)| (look, group.winner::<T>().map(str::to_owned)));
        (passed, listed.collect())
    }

    /// What of this does not belong to other plugins by what it says.
    fn wanted<T: Item>(&mut self, offered: impl Iterator<Item = &'e Arc<T>>) -> Vec<Wanted<'e, T>> {
        let mut wanted = Vec::new();
        for item in offered {
            match self.owners.judge(item.owner(), T::KIND, item.key()) {
                Ok((right, looks)) => wanted.push(Wanted { item, right, look: looks.text }),
                Err(taken) => self.refuse(&**item, taken),
            }
        }
        wanted
    }

    fn settle<T: Item>(
        &mut self,
        wanted: Vec<Wanted<'e, T>>,
        overruled: impl Fn(&Wanted<'e, T>) -> Option<Taken>,
    ) -> (Vec<Arc<T>>, HashMap<String, Contenders<'e>>) {
        let mut groups: HashMap<String, Contenders<'e>> = HashMap::with_capacity(wanted.len());
        let mut standing = Vec::with_capacity(wanted.len());
        for one in wanted {
            match overruled(&one) {
                Some(taken) => self.refuse(&**one.item, taken),
                None => {
                    let contender = Contender::of(&**one.item, one.right);
                    groups.entry(one.look.clone()).or_default().add(contender);
                    standing.push(one);
                }
            }
        }
        let mut passed = Vec::with_capacity(standing.len());
        for Wanted { item, right, look } in standing {
            let own = Contender::of(&**item, right);
            let other = groups.get(&look).and_then(|group| group.against(own.plugin));
            match other.and_then(|other| own.loses::<T>(&other)) {
                None => passed.push(Arc::clone(item)),
                Some(taken) => self.refuse(&**item, taken),
            }
        }
        (passed, groups)
    }

    /// Says of what was refused for another reason that it would be another plugin's anyway.
    pub(super) fn explain(&mut self, plugin: &str, refused: &Refused) {
        let Some(key) = refused.key.as_deref() else { return };
        if let Err(Taken { owner, why }) = self.owners.judge(plugin, refused.kind, key) {
            let explained = Refused { why, owner, ..refused.clone() };
            self.refused.entry(plugin.to_owned()).or_default().push(explained);
        }
    }

    fn refuse<T: Item>(&mut self, item: &T, taken: Taken) {
        self.refused.entry(item.owner().to_owned()).or_default().push(Refused::taken(item, taken));
    }
}

/// What templates begin with, so that those are found quickly that have URIs in common, however many there are.
pub(super) struct Leads<'e> {
    /// In order, so that all that begins with a text follows it.
    nodes: Vec<Node<'e>>,
}

struct Node<'e> {
    lead: String,
    /// The longest other one that this one begins with.
    parent: Option<usize>,
    /// Who wants this or a beginning of it.
    above: Contenders<'e>,
    /// Who wants this or something that begins with it.
    below: Contenders<'e>,
}

impl<'e> Leads<'e> {
    fn new(wanted: impl Iterator<Item = (String, Contender<'e>)>) -> Self {
        let mut found: HashMap<String, Contenders<'e>> = HashMap::new();
        wanted.for_each(|(lead, contender)| found.entry(lead).or_default().add(contender));
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut leads = Self { nodes: Vec::with_capacity(found.len()) };
        for (lead, own) in found {
            let parent = leads.deepest(leads.nodes.len().checked_sub(1), &lead);
            let above = parent.and_then(|at| leads.nodes.get(at)).map_or(own, |node| own.join(&node.above));
            leads.nodes.push(Node { lead, parent, above, below: own });
        }
        for at in (0..leads.nodes.len()).rev() {
            let Some((below, parent)) = leads.nodes.get(at).map(|node| (node.below, node.parent)) else {
                continue;
            };
            if let Some(parent) = parent.and_then(|parent| leads.nodes.get_mut(parent)) {
                parent.below = parent.below.join(&below);
            }
        }
        leads
    }

    /// From this one upwards, the first that a text begins with.
    fn deepest(&self, from: Option<usize>, text: &str) -> Option<usize> {
        let mut at = from;
        while let Some(node) = at.and_then(|at| self.nodes.get(at)) {
            if text.starts_with(&node.lead) {
                return at;
            }
            at = node.parent;
        }
        None
    }

    fn find(&self, text: &str) -> Option<&Node<'e>> {
        let after = self.nodes.partition_point(|node| node.lead.as_str() <= text);
        self.deepest(after.checked_sub(1), text).and_then(|at| self.nodes.get(at))
    }

    /// Who wants what a text begins with, or the text itself.
    fn above(&self, text: &str) -> Option<&Contenders<'e>> {
        self.find(text).map(|node| &node.above)
    }

    /// Who wants what this lead begins with, or what begins with it.
    fn around(&self, lead: &str) -> Option<Contenders<'e>> {
        self.find(lead).map(|node| node.above.join(&node.below))
    }
}

#[cfg(test)]
mod tests;
