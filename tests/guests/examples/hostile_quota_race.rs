//! Changes a directory in every way there is, at random, so that a quota that several calls check at once
//! would be wrong in one of them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Descriptor, DescriptorFlags, OpenFlags, PathFlags};

/// Names in each folder.
const NAMES: u64 = 6;

/// Folders in folders.
const DEPTH: u64 = 4;

/// Files that a call holds open.
const HELD: usize = 8;

/// How long a file is made at most.
const LONGEST: u64 = 1 << 20;

/// Random numbers, the same for each seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// A path of folders, whether they are there or not.
    fn folder(&mut self) -> String {
        let depth = self.below(DEPTH);
        (0..depth).map(|_| format!("d{}/", self.below(NAMES))).collect()
    }

    fn path(&mut self) -> String {
        let kind = if self.below(3) == 0 { 'd' } else { 'f' };
        format!("{}{kind}{}", self.folder(), self.below(NAMES))
    }

    fn file(&mut self) -> String {
        format!("{}f{}", self.folder(), self.below(NAMES))
    }
}

struct Racer {
    random: Random,
    directory: String,
    root: Descriptor,
    held: Vec<Descriptor>,
    done: u64,
}

impl Racer {
    /// Makes one random change. Most attempts fail, since their file has gone; the point is that the calls interfere.
    fn step(&mut self) {
        let done = match self.random.below(16) {
            0..3 => self.make_folder(),
            3..6 => self.open_and_write(),
            6..8 => self.write_held(),
            8..12 => self.rename(),
            12 => self.link(),
            13 => self.append(),
            14 => self.delete(),
            _ => self.resize_held(),
        };
        self.done += u64::from(done);
    }

    fn make_folder(&mut self) -> bool {
        let path = format!("{}d{}", self.random.folder(), self.random.below(NAMES));
        self.root.create_directory_at(&path).is_ok()
    }

    fn open_and_write(&mut self) -> bool {
        let path = self.random.file();
        let how = match self.random.below(4) {
            0 => OpenFlags::CREATE | OpenFlags::TRUNCATE,
            1 => OpenFlags::TRUNCATE,
            2 => OpenFlags::empty(),
            _ => OpenFlags::CREATE,
        };
        let Ok(file) = self.root.open_at(PathFlags::empty(), &path, how, DescriptorFlags::WRITE) else {
            return false;
        };
        if self.held.len() == HELD {
            self.held.swap_remove(self.random.below(HELD as u64) as usize);
        }
        self.held.push(file);
        self.write_held()
    }

    fn one_held(&mut self) -> Option<usize> {
        let count = self.held.len() as u64;
        (count > 0).then(|| self.random.below(count) as usize)
    }

    fn write_held(&mut self) -> bool {
        let Some(file) = self.one_held() else { return false };
        let (len, offset) = (self.random.below(64 << 10), self.random.below(LONGEST));
        self.held[file].write(&vec![b'x'; len as usize], offset).is_ok()
    }

    fn resize_held(&mut self) -> bool {
        let Some(file) = self.one_held() else { return false };
        let len = if self.random.below(2) == 0 { 0 } else { self.random.below(LONGEST) };
        self.held[file].set_size(len).is_ok()
    }

    fn rename(&mut self) -> bool {
        let (from, to) = (self.random.path(), self.random.path());
        self.root.rename_at(&from, &self.root, &to).is_ok()
    }

    fn link(&mut self) -> bool {
        let (from, to) = (self.random.file(), self.random.file());
        self.root.link_at(PathFlags::empty(), &from, &self.root, &to).is_ok()
    }

    fn append(&mut self) -> bool {
        let path = format!("{}/{}", self.directory, self.random.file());
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write(&[b'x'; 8 << 10])).is_ok()
    }

    fn delete(&mut self) -> bool {
        let path = self.random.path();
        self.root.unlink_file_at(&path).is_ok() || self.root.remove_directory_at(&path).is_ok()
    }
}

/// Do so for this long, and say how much of it was done.
#[tool]
fn race(directory: String, seed: u64, ms: u64) -> Result<String, String> {
    let root = wasi_fs::granted(&directory)?;
    let mut racer = Racer { random: Random(seed | 1), directory, root, held: Vec::new(), done: 0 };
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        racer.step();
    }
    Ok(format!("{} done", racer.done))
}

/// Write a file until no more can be written, and say how much that was.
#[tool]
fn fill(directory: String) -> io::Result<String> {
    let mut file = File::create(format!("{directory}/filled"))?;
    let mut written = 0;
    while let Ok(more) = file.write(&[b'x'; 4 << 10]) {
        written += more;
    }
    Ok(written.to_string())
}

/// Hand a path of 8 MB to every function that takes one, so often.
#[tool]
fn long_paths(directory: String, times: u64) -> Result<String, String> {
    let root = wasi_fs::granted(&directory)?;
    let long = "../".repeat((8 << 20) / 3);
    let (follow, now) = (PathFlags::SYMLINK_FOLLOW, || wasi_fs::NewTimestamp::Now);
    let mut tried = wasi_fs::Attempts::default();
    for _ in 0..times {
        tried = wasi_fs::Attempts::default();
        let (how, write) = (OpenFlags::CREATE, DescriptorFlags::WRITE);
        tried.note("open", root.open_at(follow, &long, how, write));
        tried.note("stat", root.stat_at(follow, &long));
        tried.note("hash", root.metadata_hash_at(follow, &long));
        tried.note("read link", root.readlink_at(&long));
        tried.note("set times", root.set_times_at(follow, &long, now(), now()));
        tried.note("make", root.create_directory_at(&long));
        tried.note("link", root.link_at(PathFlags::empty(), &long, &root, "a"));
        tried.note("link to", root.link_at(PathFlags::empty(), "a", &root, &long));
        tried.note("rename", root.rename_at(&long, &root, "a"));
        tried.note("rename to", root.rename_at("a", &root, &long));
        tried.note("symlink", root.symlink_at(&long, "a"));
        tried.note("unlink", root.unlink_file_at(&long));
        tried.note("remove", root.remove_directory_at(&long));
    }
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [race, fill, long_paths, ok] }
