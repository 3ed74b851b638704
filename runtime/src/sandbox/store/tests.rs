use redb::StorageBackend;
use redb::backends::FileBackend;

use super::*;
use crate::sandbox::bucket::Bucket;

/// A file that takes no writes while its disk is full.
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

fn set(bucket: &Bucket, value: &[u8]) -> Result<(), StoreError> {
    bucket.set_many(&[("key".to_owned(), value.to_vec())])
}

#[test]
fn a_full_disk_refuses_what_is_written_and_what_was_kept_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::options().read(true).write(true).create_new(true).open(dir.path().join(FILE)).unwrap();
    let full = Arc::new(AtomicBool::default());
    let disk = Disk { file: FileBackend::new(file).unwrap(), full: Arc::clone(&full) };
    let database = Database::builder().create_with_backend(disk).unwrap();
    let store = Store::having(dir.path().to_owned(), Some(database));
    let bucket = |plugin: &str| Bucket::new(Arc::clone(&store), plugin.into(), 1);
    let (one, other) = (bucket("one"), bucket("other"));
    set(&one, b"kept").unwrap();
    full.store(true, Ordering::Relaxed);
    let refused = set(&one, b"lost").unwrap_err();
    assert!(matches!(refused, StoreError::Full { source: Some(_), .. }), "{refused:?}");
    assert_eq!(one.get("key").unwrap().unwrap(), b"kept");
    assert_eq!(other.get("key").unwrap(), None);
    let refused = set(&other, b"lost").unwrap_err();
    assert!(matches!(refused, StoreError::Full { source: None, .. }), "nothing is tried yet: {refused:?}");
    // It was opened again as a file with room.
    let begun = Instant::now();
    while set(&other, b"more").is_err() {
        assert!(begun.elapsed() < 10 * REST, "nothing is ever written again");
        std::thread::sleep(REST / 10);
    }
    assert_eq!(one.get("key").unwrap().unwrap(), b"kept");
    assert_eq!(other.get("key").unwrap().unwrap(), b"more");
}

#[test]
fn a_file_that_was_given_its_length_and_no_more_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    File::create(dir.path().join(FILE)).unwrap().set_len(1 << 20).unwrap();
    Store::new(dir.path().to_owned()).open().unwrap();
}

#[test]
fn another_process_in_the_folder_is_named_as_the_fault() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (Store::new(dir.path().to_owned()), Store::new(dir.path().to_owned()));
    first.open().unwrap();
    assert!(matches!(second.open(), Err(StoreError::InUse(_))));
    let mode = dir.path().join(FILE).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(first);
    second.open().unwrap();
    drop(second);
    std::fs::write(dir.path().join(FILE), b"this is not a database at all").unwrap();
    assert!(matches!(Store::new(dir.path().to_owned()).open(), Err(StoreError::Unusable { .. })));
}
