//! A guest asks its client, and the answer finds its way back.
//!
//! `port` is the client as the host sees it. `question` words what a guest asks for the client's revision and checks what
//! comes back, with `sampling`, `block`, `form` and `plain_form` for its parts and `abilities` for what a client can do at
//! all. With sessions, `ask` sends a request and `asked` waits for the answer. Without them, `rounds` answers the call with
//! the question, `parked` keeps the call, and `seal` and `binding` see to it that only its own retry brings it back.

pub(super) mod abilities;
pub(super) mod ask;
pub(super) mod asked;
pub(super) mod binding;
pub(super) mod block;
pub(super) mod form;
pub(super) mod parked;
pub(super) mod plain_form;
pub(super) mod port;
pub(super) mod question;
pub(super) mod rounds;
pub(super) mod sampling;
pub(super) mod seal;
