use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use super::*;

/// The names of components.
const NAMES: [&str; 3] = [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
];

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn set_time(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_was_built_is_there_unless_it_is_damaged_or_may_be_somebody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let parent = dir.path().join("cache");
    let folder = parent.join(FOLDER);
    let cache = BuildCache::new(Some(parent.clone()));
    let [name, other, _] = NAMES;
    assert_eq!(cache.get(name), None);
    cache.put(name, b"component").unwrap();
    assert_eq!(cache.get(name).as_deref(), Some(&b"component"[..]));
    assert_eq!(cache.get(other), None);
    for shared in [&folder, &parent] {
        set_mode(shared, 0o777);
        assert_eq!(cache.get(name), None, "others could have written it");
        assert!(cache.check().is_err() && cache.put(other, b"component").is_err());
        assert!(!folder.join(other).exists());
        set_mode(shared, 0o700);
    }
    assert!(cache.get(name).is_some());
    for damaged in [&b"short"[..], &[0; 40]] {
        std::fs::write(folder.join(name), damaged).unwrap();
        assert_eq!(cache.get(name), None);
    }
    std::fs::remove_file(folder.join(name)).unwrap();
    std::fs::create_dir(folder.join(name)).unwrap();
    assert_eq!(cache.get(name), None, "it is no file");
    let without = BuildCache::new(None);
    assert!(matches!(without.check(), Err(NotReproducible::NoCache)));
    assert!(without.put(name, b"component").is_err());
    assert_eq!(without.get(name), None);
}

#[test]
fn nothing_is_written_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let [real, parent] = ["real", "cache"].map(|name| dir.path().join(name));
    std::fs::create_dir(&real).unwrap();
    set_mode(&real, 0o700);
    let cache = BuildCache::new(Some(parent.clone()));
    symlink(&real, &parent).unwrap();
    let told = cache.put(NAMES[0], b"component").unwrap_err().to_string();
    assert!(told.contains("chmod 700"), "{told}");
    std::fs::remove_file(&parent).unwrap();
    std::fs::create_dir(&parent).unwrap();
    set_mode(&parent, 0o700);
    symlink(&real, parent.join(FOLDER)).unwrap();
    assert!(cache.put(NAMES[0], b"component").is_err());
    assert_eq!(std::fs::read_dir(real).unwrap().count(), 0);
}

#[test]
fn what_was_not_used_for_longest_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let parent = dir.path().join("cache");
    let folder = parent.join(FOLDER);
    let cache = BuildCache { max_bytes: 2 * 100, ..BuildCache::new(Some(parent)) };
    for (name, hours) in NAMES.into_iter().zip([3, 2]) {
        cache.put(name, &[0; 100]).unwrap();
        set_time(&folder.join(name), SystemTime::now() - Duration::from_secs(hours * 3_600));
    }
    let others = ["mine", "secret"].map(|name| folder.join(name));
    for other in &others {
        std::fs::write(other, [0_u8; 1_000]).unwrap();
        set_time(other, SystemTime::UNIX_EPOCH);
    }
    assert!(cache.get(NAMES[0]).is_some(), "and now it is used");
    cache.put(NAMES[2], &[0; 100]).unwrap();
    let are_there = || NAMES.map(|name| cache.get(name).is_some());
    assert_eq!(are_there(), [true, false, true]);
    assert!(others.iter().all(|other| other.exists()), "this program has not written them");
    let told = cache.put(NAMES[1], &[0; 201]).unwrap_err().to_string();
    assert!(told.contains("it is larger"), "{told}");
    assert_eq!(are_there(), [true, false, true], "what is too large removes nothing");
    // A clock was wrong: what was built now stays all the same.
    for name in [NAMES[0], NAMES[2]] {
        set_time(&folder.join(name), SystemTime::now() + Duration::from_secs(3_600));
    }
    cache.put(NAMES[1], &[0; 150]).unwrap();
    assert_eq!(are_there(), [false, true, false]);
}

#[test]
fn what_a_killed_build_has_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let parent = dir.path().join("cache");
    let cache = BuildCache { max_bytes: 100, ..BuildCache::new(Some(parent.clone())) };
    cache.put(NAMES[0], &[0; 10]).unwrap();
    let left = parent.join(FOLDER).join(".plugport-x.part");
    std::fs::write(&left, [0_u8; 200]).unwrap();
    cache.put(NAMES[1], &[0; 10]).unwrap();
    assert!(!left.exists());
}
