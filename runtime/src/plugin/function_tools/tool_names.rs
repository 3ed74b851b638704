//! The names of function tools: those of the functions, made longer where two would be equal.

use std::collections::HashMap;

/// Where a function is: in an exported interface, or at the root.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExportPath<'a> {
    /// Such as `ns:package/interface@1.0.0`, or one plain name.
    pub(super) interface: Option<&'a str>,
    pub(super) function: &'a str,
}

/// How often a name is made longer. After that, equal names stay equal.
const MAX_LENGTH: u8 = 3;

impl ExportPath<'_> {
    /// For messages: `interface#function`.
    pub(super) fn in_words(self) -> String {
        match self.interface {
            Some(interface) => format!("{interface}#{}", self.function),
            None => self.function.to_owned(),
        }
    }

    /// The function alone; with its interface; with the package too; with the version too.
    fn name(self, length: u8) -> String {
        let Some(interface) = self.interface.filter(|_| length > 0) else { return self.function.to_owned() };
        let (path, version) = interface.split_once('@').unwrap_or((interface, ""));
        let own = path.rsplit_once('/').map_or(path, |(_, own)| own);
        let whole = path.replace([':', '/'], "-");
        match length {
            1 => format!("{own}-{}", self.function),
            2 => format!("{whole}-{}", self.function),
            _ => format!("{whole}-{version}-{}", self.function),
        }
    }
}

/// A name for each path, in their order. Only equal names become longer; a function at the root has no longer name.
pub(super) fn names(paths: &[ExportPath<'_>]) -> Vec<String> {
    let mut lengths = vec![0; paths.len()];
    loop {
        let names: Vec<String> =
            paths.iter().zip(&lengths).map(|(path, length)| path.name(*length)).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for name in &names {
            *times.entry(name).or_default() += 1;
        }
        let mut is_done = true;
        for ((path, name), length) in paths.iter().zip(&names).zip(&mut lengths) {
            let is_shared = times.get(name.as_str()).is_some_and(|times| *times > 1);
            if is_shared && path.interface.is_some() && *length < MAX_LENGTH {
                *length += 1;
                is_done = false;
            }
        }
        if is_done {
            return names;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(paths: &[(&'static str, &'static str)]) -> Vec<String> {
        let path = |(interface, function): &(&'static str, &'static str)| ExportPath {
            interface: Some(*interface).filter(|interface| !interface.is_empty()),
            function,
        };
        names(&paths.iter().map(path).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_is_as_short_as_it_can_be() {
        assert_eq!(named(&[("", "now"), ("a:b/clock@1.0.0", "zone")]), ["now", "zone"]);
        assert_eq!(
            named(&[("", "get"), ("a:b/notes", "get"), ("notes2", "get")]),
            ["get", "notes-get", "notes2-get"]
        );
        assert_eq!(named(&[("a:b/c", "get"), ("d:e/c", "get")]), ["a-b-c-get", "d-e-c-get"]);
        assert_eq!(
            named(&[("a:b/c@1.0.0", "get"), ("a:b/c@2.0.0", "get")]),
            ["a-b-c-1.0.0-get", "a-b-c-2.0.0-get"]
        );
        assert_eq!(named(&[("", "c-get"), ("", "get"), ("a:b/c", "get")]), ["c-get", "get", "a-b-c-get"]);
    }
}
