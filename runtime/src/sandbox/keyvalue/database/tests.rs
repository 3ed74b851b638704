use std::fs::File;

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::interrupted_creation::{HEADER, MAGIC, NEW};
use super::*;
use crate::sandbox::keyvalue::bucket::KvBucket;

/// A file that accepts no writes while its disk is full.
#[derive(Debug)]
struct Disk {
    file: FileBackend,
    full: Arc<AtomicBool>,
}

impl Disk {
    fn room(&self) -> io::Result<()> {
        if self.full.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.room()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room()?;
        self.file.write(offset, data)
    }
}

fn set(bucket: &KvBucket, value: &[u8]) -> Result<(), KvError> {
    bucket.set_many(&[("key".to_owned(), value.to_vec())])
}

#[test]
fn a_full_disk_refuses_what_is_written_and_what_was_kept_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::options().read(true).write(true).create_new(true).open(dir.path().join(FILE)).unwrap();
    let full = Arc::new(AtomicBool::default());
    let disk = Disk { file: FileBackend::new(file).unwrap(), full: Arc::clone(&full) };
    let database = Database::builder().create_with_backend(disk).unwrap();
    let store = KvDatabase::at(Location::Folder(dir.path().to_owned()), Some(database));
    let bucket = |plugin: &str| KvBucket::new(Arc::clone(&store), plugin.into(), 1);
    let (one, other) = (bucket("one"), bucket("other"));
    set(&one, b"kept").unwrap();
    full.store(true, Ordering::Relaxed);
    let rejected = set(&one, b"lost").unwrap_err();
    assert!(matches!(rejected, KvError::Full { source: Some(_), .. }), "{rejected:?}");
    assert_eq!(one.get("key").unwrap().unwrap(), b"kept");
    assert_eq!(other.get("key").unwrap(), None);
    *store.paused_until.lock() = Some(Instant::now() + WRITE_PAUSE);
    let rejected = set(&other, b"lost").unwrap_err();
    assert!(matches!(rejected, KvError::Full { source: None, .. }), "nothing is tried yet: {rejected:?}");
    // The database was opened again, with a file that accepts writes.
    let begun = Instant::now();
    while set(&other, b"more").is_err() {
        assert!(begun.elapsed() < 10 * WRITE_PAUSE, "nothing is ever written again");
        std::thread::sleep(WRITE_PAUSE / 10);
    }
    assert_eq!(one.get("key").unwrap().unwrap(), b"kept");
    assert_eq!(other.get("key").unwrap().unwrap(), b"more");
}

#[test]
fn the_rest_after_a_refused_write_begins_when_the_database_is_open_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = KvDatabase::new(dir.path().to_owned());
    store.open().unwrap();
    assert_eq!(*store.paused_until.lock(), None, "nothing was rejected");
    store.close(1, true);
    let begun = Instant::now();
    *store.paused_until.lock() = Some(begun);
    store.open().unwrap();
    assert!(store.paused_until.lock().unwrap() >= begun + WRITE_PAUSE);
    let over = Instant::now();
    *store.paused_until.lock() = Some(over);
    set(&KvBucket::new(Arc::clone(&store), "one".into(), 1), b"kept").unwrap();
    assert_eq!(*store.paused_until.lock(), None, "the disk takes writes");
}

#[test]
fn a_file_in_which_the_database_was_not_made_to_its_end_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE);
    File::create(&file).unwrap().set_len(1 << 20).unwrap();
    KvDatabase::new(dir.path().to_owned()).open().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    assert!(bytes.len() as u64 <= NEW);
    bytes[..MAGIC].fill(0);
    bytes[HEADER..].fill(0);
    assert!(bytes.iter().any(|byte| *byte != 0), "there is a header");
    std::fs::write(&file, bytes).unwrap();
    KvDatabase::new(dir.path().to_owned()).open().unwrap();
}

#[test]
fn a_database_that_was_damaged_is_not_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(FILE);
    set(&KvBucket::new(KvDatabase::new(dir.path().to_owned()), "one".into(), 1), b"kept").unwrap();
    let mut small = std::fs::read(&file).unwrap();
    small[..HEADER].fill(0);
    for bytes in [small, vec![0; 4 << 20]] {
        std::fs::write(&file, &bytes).unwrap();
        let opened = KvDatabase::new(dir.path().to_owned()).open();
        assert!(matches!(opened, Err(KvError::Unusable { .. })), "{opened:?}");
        assert!(std::fs::read(&file).unwrap() == bytes, "it was changed");
    }
}

#[test]
fn two_servers_of_one_folder_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let adding = || {
        let bucket = KvBucket::new(KvDatabase::new(dir.path().to_owned()), "one".into(), 1);
        (0..20).for_each(|_| assert!(bucket.increment("sum", 1).unwrap() > 0));
    };
    std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(adding))));
    let bucket = KvBucket::new(KvDatabase::new(dir.path().to_owned()), "one".into(), 1);
    assert_eq!(bucket.get("sum").unwrap().unwrap(), b"60");
}

#[test]
fn a_database_that_rests_is_closed_and_opened_again_when_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let store = KvDatabase::new(dir.path().to_owned());
    let bucket = KvBucket::new(Arc::clone(&store), "one".into(), 1);
    set(&bucket, b"kept").unwrap();
    let begun = Instant::now();
    while store.opened.read().database.is_some() {
        assert!(begun.elapsed() < 100 * IDLE, "it stays open");
        std::thread::sleep(IDLE / 10);
    }
    assert_eq!(bucket.get("key").unwrap().unwrap(), b"kept");
    let memory = KvBucket::new(KvDatabase::in_memory().unwrap(), "one".into(), 1);
    set(&memory, b"kept").unwrap();
    std::thread::sleep(3 * IDLE);
    assert_eq!(memory.get("key").unwrap().unwrap(), b"kept");
}

#[test]
fn who_keeps_the_database_locked_is_named_as_the_fault() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let store = KvDatabase::new(dir.path().to_owned());
    store.open().unwrap();
    let file = File::open(dir.path().join(FILE)).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    drop(store);
    file.lock().unwrap();
    let waiting = KvDatabase::new(dir.path().to_owned());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let open = || assert!(matches!(waiting.open(), Err(KvError::InUse(_))));
        (0..5).for_each(|_| drop(scope.spawn(open)));
    });
    assert!(begun.elapsed() < Duration::from_secs(2), "they wait together: {:?}", begun.elapsed());
    assert_eq!(waiting.times_locked_out(), 5);
    drop(file);
    std::fs::write(dir.path().join(FILE), b"this is not a database at all").unwrap();
    assert!(matches!(KvDatabase::new(dir.path().to_owned()).open(), Err(KvError::Unusable { .. })));
    assert!(matches!(KvDatabase::of_state(None).open(), Err(KvError::Nowhere)));
}

/// Measures how long opening and closing takes after a time without use. `--nocapture` shows the times.
#[test]
fn opening_and_closing_takes_milliseconds() {
    let dir = tempfile::tempdir().unwrap();
    let store = KvDatabase::new(dir.path().to_owned());
    let bucket = KvBucket::new(Arc::clone(&store), "one".into(), 64);
    for number in 0..40 {
        bucket.set_many(&[(format!("{number}"), vec![1; 1 << 20])]).unwrap();
    }
    let (mut opened, mut closed) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let times = store.opened.read().generation;
        let begun = Instant::now();
        store.close(times, false);
        closed.push(begun.elapsed());
        let begun = Instant::now();
        assert!(bucket.get("none").unwrap().is_none());
        opened.push(begun.elapsed());
    }
    opened.sort();
    closed.sort();
    println!("of 40 MiB: opened in {:?}, closed in {:?}", opened[10], closed[10]);
    assert!(opened[10] + closed[10] < HELD_UP, "opened in {opened:?}, closed in {closed:?}");
}

/// How long closing and opening may delay another server.
const HELD_UP: Duration = Duration::from_millis(500);
