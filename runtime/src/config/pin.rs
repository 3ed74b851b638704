//! `pin`: what becomes of a plugin that is not what was approved.

use std::net::SocketAddr;

use super::reader::{Entry, Reader};

/// How strictly plugins are compared with what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pin {
    /// Not at all: a developer's folder.
    Off,
    /// They are served, and it is told.
    Warn,
    /// They are held back until someone has approved them.
    Strict,
}

impl Pin {
    pub(super) fn read(entry: &Entry<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        let pin = Self::parse(&text);
        if pin.is_none() {
            reader.fault(entry.span.clone(), &entry.key, "must be \"off\", \"warn\" or \"strict\"");
        }
        pin
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }

    /// What holds when nothing is said: whoever serves other machines serves what was approved.
    #[must_use]
    pub fn usual(listening: Option<SocketAddr>) -> Self {
        match listening {
            Some(address) if !address.ip().is_loopback() => Self::Strict,
            _ => Self::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_machines_can_reach_is_strict() {
        let usual = |address: &str| Pin::usual(Some(address.parse().unwrap()));
        assert_eq!((usual("127.0.0.1:1"), usual("[::1]:1")), (Pin::Off, Pin::Off));
        assert_eq!((usual("0.0.0.0:1"), usual("10.0.0.5:1")), (Pin::Strict, Pin::Strict));
        assert_eq!(Pin::usual(None), Pin::Off);
        assert_eq!((Pin::parse("warn"), Pin::parse("loose")), (Some(Pin::Warn), None));
    }
}
