//! The id of a task: random bytes, and a MAC over them, the principal and the generation of tasks.
//!
//! So the id of another principal's task is no id at all, and is found out before anything is looked up. Without a
//! principal whoever has the id may use it. The key is stored with the tasks, so ids stay valid when the server
//! restarts.

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::mcp::revision::Revision;
use crate::sandbox::RecordId;

/// How many bytes of the MAC an id contains.
const MAC_BYTES: usize = 16;

/// The length of an id, in bytes of text.
const TEXT_BYTES: usize = 43;

/// Which form of tasks a client speaks. A task of the one does not exist in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum TaskGeneration {
    /// The experimental tasks of 2025-11-25.
    Experimental,
    /// The extension `io.modelcontextprotocol/tasks`.
    Extension,
    /// None: a tool waits for the result, which is written in the revision of the call.
    Bridge(Revision),
}

impl TaskGeneration {
    /// The tasks of a request of this revision.
    pub(super) fn of(revision: Revision, is_bridged: bool) -> Self {
        match is_bridged {
            true => Self::Bridge(revision),
            false if revision.is_stateless() => Self::Extension,
            false => Self::Experimental,
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Experimental => 0,
            Self::Extension => 1,
            Self::Bridge(revision) => 2 + revision as u8,
        }
    }
}

/// The MAC key.
pub(super) struct TaskKey(Hmac<Sha256>);

impl TaskKey {
    /// `None` never: any 32 bytes are a key.
    pub(super) fn new(key: &[u8; 32]) -> Option<Self> {
        Hmac::new_from_slice(key).ok().map(Self)
    }

    /// The text of an id.
    pub(super) fn sign(&self, id: &RecordId, generation: TaskGeneration, principal: Option<&str>) -> String {
        let mac = self.mac(id, generation, principal).finalize().into_bytes();
        let mac = mac.get(..MAC_BYTES).unwrap_or_default();
        BASE64URL_NOPAD.encode(&[id.as_slice(), mac].concat())
    }

    /// The id, if this text is that of a task of `principal`; `None` for anything else.
    pub(super) fn verify(
        &self,
        text: &str,
        generation: TaskGeneration,
        principal: Option<&str>,
    ) -> Option<RecordId> {
        if text.len() != TEXT_BYTES {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (id, mac) = bytes.split_first_chunk::<16>()?;
        self.mac(id, generation, principal).verify_truncated_left(mac).ok()?;
        Some(*id)
    }

    fn mac(&self, id: &RecordId, generation: TaskGeneration, principal: Option<&str>) -> Hmac<Sha256> {
        // Fixed lengths first, so no two inputs are the same bytes.
        let kind = [generation.number(), u8::from(principal.is_some())];
        let mac = self.0.clone().chain_update(kind).chain_update(id);
        mac.chain_update(principal.unwrap_or_default())
    }
}

impl std::fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TaskKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: RecordId = [9; 16];

    #[test]
    fn an_id_is_of_one_principal_and_one_generation() {
        use TaskGeneration::{Bridge, Experimental, Extension};
        let key = TaskKey::new(&[1; 32]).unwrap();
        let owners = [
            (Extension, None),
            (Extension, Some("")),
            (Extension, Some("token:a")),
            (Extension, Some("token:b")),
            (Experimental, None),
            (Experimental, Some("token:a")),
            (Bridge(Revision::V2025_11_25), None),
            (Bridge(Revision::V2026_07_28), None),
            (Bridge(Revision::V2026_07_28), Some("token:a")),
        ];
        for of in owners {
            let text = key.sign(&ID, of.0, of.1);
            assert_eq!(text.len(), TEXT_BYTES);
            for by in owners {
                assert_eq!(key.verify(&text, by.0, by.1), (of == by).then_some(ID), "{of:?} {by:?}");
            }
            assert_eq!(TaskKey::new(&[2; 32]).unwrap().verify(&text, of.0, of.1), None);
        }
    }

    #[test]
    fn whatever_was_altered_or_guessed_is_no_id() {
        let key = TaskKey::new(&[1; 32]).unwrap();
        let text = key.sign(&ID, TaskGeneration::Extension, None);
        let verify = |text: &str| key.verify(text, TaskGeneration::Extension, None);
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(altered == text || verify(&altered).is_none(), "{at}");
        }
        for guessed in ["", "x", &text[..42], &format!("{text}A"), &"A".repeat(43), &"ü".repeat(22)] {
            assert_eq!(verify(guessed), None, "{guessed}");
        }
    }
}
