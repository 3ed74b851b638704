//! Components of two instances that pass values to each other through the adapter that Wasmtime generates. The
//! adapter's work is neither the guest's own instructions nor a host function.
//!
//! The components are written as text, since no toolchain makes them, and export a function tool. All entries of a list
//! are the same text, and every received value is written to the same address, so a component of a kilobyte can make
//! the engine copy gigabytes.

use std::fmt::Write as _;

use super::{Encoding, PassedValue};

/// The direction of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As an argument.
    Given,
    /// As a result, which the called instance returns and frees in its post-return function.
    Returned,
}

/// One such component.
#[derive(Debug, Clone, Copy)]
pub struct AdapterComponent {
    pub name: &'static str,
    /// The string encodings of the sending and of the receiving instance.
    pub encodings: [Encoding; 2],
    pub what: PassedValue,
    pub direction: Direction,
    /// Length of the text, or of all the bytes.
    pub bytes: u32,
    /// Whether the text has letters that are longer in the other encoding.
    pub wide: bool,
    /// The number of instances between the called and the passing instance, each of which only calls the next.
    pub depth: u32,
    /// The number of repeats. 0: endless.
    pub rounds: u32,
    /// Passes the value while the instance starts, before any call.
    pub at_start: bool,
}

/// The address of lists in both memories; the shell uses the memory below.
const LIST: u32 = 1 << 16;
const PAGE: u32 = 1 << 16;

impl AdapterComponent {
    /// A component that passes a text endlessly.
    pub const fn text(name: &'static str, from: Encoding, to: Encoding, bytes: u32) -> Self {
        let (what, direction) = (PassedValue::Text, Direction::Given);
        Self {
            name,
            encodings: [from, to],
            what,
            direction,
            bytes,
            wide: false,
            depth: 0,
            rounds: 0,
            at_start: false,
        }
    }

    pub const fn of(self, what: PassedValue) -> Self {
        Self { what, ..self }
    }

    pub const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    pub const fn returned(self) -> Self {
        Self { direction: Direction::Returned, ..self }
    }

    pub const fn below(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    pub const fn at_start(self) -> Self {
        Self { at_start: true, ..self }
    }

    pub const fn times(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    /// The size of both memories together, in bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.pages(true) + self.pages(false)) * u64::from(PAGE)
    }

    /// The whole component. Its only function, `go`, is its tool. The two instances are siblings, since an instance
    /// that has been entered may not enter its child instances.
    pub fn text_format(&self) -> String {
        let mut text = "(component\n".to_owned();
        let [has, gets] = self.encodings;
        let (mine, theirs) = match self.direction {
            Direction::Given => (has, gets),
            Direction::Returned => (gets, has),
        };
        self.write_callee(&mut text, theirs);
        text.push_str("(instance $other0 (instantiate $other))\n");
        self.write_forwarders(&mut text);
        self.write_caller(&mut text, mine);
        text.push(')');
        text
    }

    /// The component, compiled to bytes.
    pub fn assembled(&self) -> Vec<u8> {
        let text = self.text_format();
        wat::parse_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// The type of the function that passes the value, without `func`.
    fn kind(&self) -> String {
        let shape = self.what.shape();
        match self.direction {
            Direction::Given => format!("(param \"it\" {shape})"),
            Direction::Returned => format!("(result {shape})"),
        }
    }

    /// The instance that is called.
    fn write_callee(&self, text: &mut String, encoding: Encoding) {
        let (pages, memory, kind) =
            (self.pages(self.direction == Direction::Returned), self.memory_module(), self.kind());
        let fill = self.fill(self.direction == Direction::Returned, encoding);
        let (core, options) = match self.direction {
            Direction::Given => (
                "(func (export \"pass\") (param i32 i32))".to_owned(),
                "(realloc (core func $i \"realloc\"))",
            ),
            Direction::Returned => (
                format!(
                    "(global $full (mut i32) (i32.const 0))
                     (func (export \"pass\") (result i32) (local $at i32)
                       (if (i32.eqz (global.get $full)) (then (global.set $full (i32.const 1)) {fill}))
                       (i32.store (i32.const 16) (i32.const {address}))
                       (i32.store (i32.const 20) (i32.const {length}))
                       (i32.const 16))
                     (func (export \"post\") (param i32))",
                    address = self.address(),
                    length = self.length(encoding)
                ),
                "(post-return (core func $i \"post\"))",
            ),
        };
        let _ = writeln!(
            text,
            "(component $other
               (core module $m (memory (export \"memory\") {pages}) {memory} {core})
               (core instance $i (instantiate $m))
               (func (export \"pass\") {kind}
                 (canon lift (core func $i \"pass\") (memory (core memory $i \"memory\")) {options} {encoding})))",
            encoding = encoding.option()
        );
    }

    /// Instances that only call the next one.
    fn write_forwarders(&self, text: &mut String) {
        for at in 0..self.depth {
            let _ = writeln!(
                text,
                "(component $between{at}
                   (import \"next\" (instance $next (export \"tick\" (func))))
                   (core func $tick (canon lower (func $next \"tick\")))
                   (core module $m (import \"next\" \"tick\" (func $tick)) (func (export \"tick\") (call $tick)))
                   (core instance $next (export \"tick\" (func $tick)))
                   (core instance $i (instantiate $m (with \"next\" (instance $next))))
                   (func (export \"tick\") (canon lift (core func $i \"tick\"))))"
            );
        }
        if self.depth > 0 {
            text.push_str(
                "(component $ground (core module $m (func (export \"tick\")))
                   (core instance $i (instantiate $m))
                   (func (export \"tick\") (canon lift (core func $i \"tick\"))))
                 (instance $step0 (instantiate $ground))\n",
            );
        }
        for at in 0..self.depth {
            let up = at + 1;
            let _ = writeln!(
                text,
                "(instance $step{up} (instantiate $between{at} (with \"next\" (instance $step{at}))))"
            );
        }
    }

    /// The instance with the tool, which calls the other instance.
    fn write_caller(&self, text: &mut String, encoding: Encoding) {
        let (pages, depth) = (self.pages(self.direction == Direction::Given), self.depth);
        let (signature, call) = match self.direction {
            Direction::Given => (
                "(param i32 i32)",
                format!("(call $pass (i32.const {}) (i32.const {}))", self.address(), self.length(encoding)),
            ),
            Direction::Returned => ("(param i32)", "(call $pass (i32.const 1024))".to_owned()),
        };
        let fill = self.fill(self.direction == Direction::Given, encoding);
        let [tick_func, tick_lowered, tick_import, tick_call, tick_export] = match depth {
            0 => [""; 5],
            _ => [
                "(import \"tick\" (func $next))",
                "(core func $tick (canon lower (func $next)))",
                "(import \"host\" \"tick\" (func $tick))",
                "(call $tick)",
                "(export \"tick\" (func $tick))",
            ],
        };
        // 0 runs down from 2^32.
        let rounds = self.rounds;
        let (memory, kind) = (self.memory_module(), self.kind());
        let start = if self.at_start { "(start $run)" } else { "" };
        let _ = writeln!(
            text,
            "(component $driver
               (import \"pass\" (func $it {kind}))
               {tick_func}
               (core module $libc (memory (export \"memory\") {pages}) {memory})
               (core instance $libc (instantiate $libc))
               (core func $pass (canon lower (func $it) (memory (core memory $libc \"memory\"))
                 (realloc (core func $libc \"realloc\")) {encoding}))
               {tick_lowered}
               (core module $core
                 (import \"libc\" \"memory\" (memory {pages}))
                 (import \"host\" \"pass\" (func $pass {signature}))
                 {tick_import}
                 (func $run (export \"go\")
                   (local $at i32) (local $left i32)
                   {fill}
                   (local.set $left (i32.const {rounds}))
                   (loop $again
                     {tick_call}
                     {call}
                     (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                     (br_if $again (local.get $left))))
                 {start})
               (core instance $host (export \"pass\" (func $pass)) {tick_export})
               (core instance $main (instantiate $core (with \"libc\" (instance $libc)) (with \"host\" (instance $host))))
               (func (export \"go\") (canon lift (core func $main \"go\"))))",
            encoding = encoding.option()
        );
        let tick = match depth {
            0 => String::new(),
            depth => format!("(with \"tick\" (func $step{depth} \"tick\"))"),
        };
        let _ = writeln!(
            text,
            "(instance $driver0 (instantiate $driver (with \"pass\" (func $other0 \"pass\")) {tick}))
             (export \"go\" (func $driver0 \"go\"))"
        );
    }

    /// `realloc`, which always returns the same address: one for lists, one for texts.
    fn memory_module(&self) -> String {
        format!(
            "(func (export \"realloc\") (param i32 i32 i32 i32) (result i32)
               (if (result i32) (i32.gt_u (local.get 2) (i32.const 2))
                 (then (i32.const {LIST})) (else (i32.const {}))))",
            self.text_at()
        )
    }

    /// Instructions that write the value into memory, if this instance sends it.
    fn fill(&self, has: bool, encoding: Encoding) -> String {
        if !has {
            return String::new();
        }
        let (at, filling, bytes) = (self.text_at(), encoding.filling(self.wide), self.bytes);
        let mut fill = match filling {
            0 => String::new(),
            byte => format!("(memory.fill (i32.const {at}) (i32.const {byte}) (i32.const {bytes}))\n"),
        };
        let (count, size) = self.what.entries();
        if count > 0 {
            let _ = write!(
                fill,
                "(local.set $at (i32.const {LIST}))
                 (loop $next
                   {entry}
                   (local.set $at (i32.add (local.get $at) (i32.const {size})))
                   (br_if $next (i32.lt_u (local.get $at) (i32.const {end}))))",
                entry = self.entry(encoding.length(self.bytes)),
                end = LIST + count * size
            );
        }
        fill
    }

    /// Stores one entry of the list at `$at`.
    fn entry(&self, length: u32) -> String {
        let text = self.text_at();
        let store = |offset: u32, value: u32| {
            format!("(i32.store offset={offset} (local.get $at) (i32.const {value}))")
        };
        match self.what {
            PassedValue::Texts(_) => store(0, text) + &store(4, length),
            PassedValue::Records(_) => {
                store(0, text) + &store(4, length) + &store(16, text) + &store(20, length)
            }
            PassedValue::Options(_) => store(0, 1) + &store(4, text) + &store(8, length),
            PassedValue::Text | PassedValue::Bytes | PassedValue::Numbers => String::new(),
        }
    }

    /// The address of the passed value.
    fn address(&self) -> u32 {
        if self.what.entries().0 > 0 { LIST } else { self.text_at() }
    }

    fn length(&self, encoding: Encoding) -> u32 {
        match self.what {
            PassedValue::Text => encoding.length(self.bytes),
            PassedValue::Bytes => self.bytes,
            PassedValue::Numbers => self.bytes / 8,
            _ => self.what.entries().0,
        }
    }

    fn text_at(&self) -> u32 {
        let (count, size) = self.what.entries();
        // Numbers are at the address of lists, since they have the same alignment.
        let numbers = if self.what == PassedValue::Numbers { self.bytes } else { 0 };
        (LIST + count * size + numbers).next_multiple_of(PAGE)
    }

    /// The size of the text in memory: as it is for the sender, in the longest encoding for the receiver.
    fn pages(&self, has: bool) -> u32 {
        let times = match (has, self.wide) {
            (true, _) => 1,
            (false, false) => 2,
            (false, true) => 3,
        };
        (self.text_at() + self.bytes * times).div_ceil(PAGE) + 1
    }
}
