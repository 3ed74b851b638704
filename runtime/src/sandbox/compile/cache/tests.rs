//! Tests of the cache: damaged files, other users, other servers, and its maximum size.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use super::*;

const MAX_BYTES: u64 = 1 << 20;

fn cache(path: &Path) -> CodeCache {
    CodeCache::at(path, MAX_BYTES, true).unwrap()
}

fn recalled(cache: &CodeCache, key: u8) -> Option<Vec<u8>> {
    let key = Key::test(key);
    let MachineCode::Cached(file) = cache.mapped(&key, MAX_BYTES)? else { panic!("code of another kind") };
    let Some(MachineCode::CachedBytes(bytes)) = cache.in_memory(&key, MAX_BYTES) else {
        panic!("the same file in memory")
    };
    assert_eq!(file.metadata().unwrap().len(), (bytes.len() + TAIL) as u64);
    Some(bytes)
}

fn file(dir: &Path, key: u8) -> PathBuf {
    dir.join(Key::test(key).file())
}

#[test]
fn what_is_kept_is_recalled_by_every_server_and_nobody_else_may_look() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/compiled");
    let (first, second) = (cache(&path), cache(&path));
    first.insert(&Key::test(1), b"code");
    assert_eq!(recalled(&second, 1).unwrap(), b"code");
    assert_eq!(recalled(&cache(&path), 1).unwrap(), b"code");
    assert_eq!(recalled(&first, 2), None);
    assert!(first.mapped(&Key::test(1), 3).is_none(), "larger than wanted");
    assert!(file(&path, 1).exists(), "and yet not damaged");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join(SECRET)), mode(&file(&path, 1))), (0o700, 0o600, 0o600));
}

#[test]
fn damage_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    for damage in [
        &|path: &Path| fs::write(path, b"").unwrap() as _,
        &|path: &Path| fs::write(path, &fs::read(path).unwrap()[..50]).unwrap(),
        &|path: &Path| {
            let mut bytes = fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        },
        &|path: &Path| {
            let other = path.with_extension("elsewhere");
            fs::rename(path, &other).unwrap();
            symlink(&other, path).unwrap();
        },
    ] as [&dyn Fn(&Path); 4]
    {
        cache.insert(&Key::test(1), b"code");
        damage(&file(dir.path(), 1));
        assert_eq!(recalled(&cache, 1), None);
        assert!(fs::symlink_metadata(file(dir.path(), 1)).is_err());
    }
    cache.insert(&Key::test(1), b"one");
    cache.insert(&Key::test(2), b"two");
    let (one, two) = (fs::read(file(dir.path(), 1)).unwrap(), fs::read(file(dir.path(), 2)).unwrap());
    fs::write(file(dir.path(), 1), two).unwrap();
    fs::write(file(dir.path(), 2), one).unwrap();
    assert_eq!((recalled(&cache, 1), recalled(&cache, 2)), (None, None));
}

#[test]
fn a_folder_that_came_from_elsewhere_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("theirs"), dir.path().join("ours"));
    cache(&theirs).insert(&Key::test(1), b"theirs");
    // Copied with all attributes that an archive preserves.
    let copied = std::process::Command::new("cp").arg("-a").args([&theirs, &ours]).status().unwrap();
    assert!(copied.success());
    assert_eq!(fs::read(ours.join(SECRET)).unwrap(), fs::read(theirs.join(SECRET)).unwrap());
    assert_eq!(recalled(&cache(&ours), 1), None);
    assert_eq!(recalled(&cache(&theirs), 1).unwrap(), b"theirs");
}

#[test]
fn a_secret_that_is_none_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join(SECRET);
    for spoil in [
        &|path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap() as _,
        &|path: &Path| fs::write(path, b"short").unwrap(),
    ] as [&dyn Fn(&Path); 2]
    {
        cache(dir.path()).insert(&Key::test(1), b"code");
        let before = fs::read(&secret).unwrap();
        spoil(&secret);
        assert_eq!(recalled(&cache(dir.path()), 1), None);
        assert_ne!(fs::read(&secret).unwrap(), before);
    }
}

#[test]
fn a_folder_that_others_may_write_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("compiled");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let error = CodeCache::open(dir.path(), 1).unwrap_err();
    assert!(error.source.to_string().contains("chmod 700"), "{error:?}");
    fs::remove_dir(&path).unwrap();
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    symlink(dir.path().join("elsewhere"), &path).unwrap();
    assert!(CodeCache::open(dir.path(), 1).is_err(), "a link");
    assert!(CodeCache::open(dir.path(), 0).unwrap().is_none());
    assert!(CodeCache::existing(&dir.path().join("none"), 1).is_none());
    assert!(!dir.path().join("none").exists());
}

#[test]
fn a_persons_own_is_made_private_with_all_above_it_that_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("home/.cache/plugport");
    assert!(CodeCache::own(&folder, 0).unwrap().is_none() && !dir.path().join("home").exists());
    CodeCache::own(&folder, 1).unwrap().unwrap().insert(&Key::test(1), b"code");
    assert_eq!(recalled(&CodeCache::own(&folder, 1).unwrap().unwrap(), 1).unwrap(), b"code");
    for made in ["home/.cache", "home/.cache/plugport", "home/.cache/plugport/compiled"] {
        assert_eq!(dir.path().join(made).metadata().unwrap().permissions().mode() & 0o777, 0o700, "{made}");
    }
}

#[test]
fn a_persons_own_is_done_without_where_others_may_write_or_it_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("plugport");
    CodeCache::own(&folder, 1).unwrap();
    for shared in [folder.join(FOLDER), folder.clone()] {
        for mode in [0o777, 0o770, 0o702] {
            fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
            assert!(CodeCache::own(&folder, 1).is_err(), "{} with {mode:o}", shared.display());
        }
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(CodeCache::own(&folder, 1).is_ok());
    }
    let link = dir.path().join("link");
    symlink(&folder, &link).unwrap();
    assert!(CodeCache::own(&link, 1).is_err());
    fs::write(dir.path().join("file"), b"").unwrap();
    assert!(CodeCache::own(&dir.path().join("file/plugport"), 1).is_err());
    assert!(CodeCache::own(Path::new("/proc/none/plugport"), 1).is_err());
}

#[test]
fn what_was_not_used_for_longest_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let cache = CodeCache::at(dir.path(), 3_000, true).unwrap();
    let code = [0; 900];
    let pause = || std::thread::sleep(Duration::from_millis(20));
    for key in 1..=3 {
        cache.insert(&Key::test(key), &code);
        pause();
    }
    assert!(recalled(&cache, 1).is_some(), "used again");
    pause();
    cache.insert(&Key::test(4), &code);
    let there: Vec<bool> = (1..=4).map(|key| file(dir.path(), key).exists()).collect();
    assert_eq!(there, [true, false, true, true]);
    cache.insert(&Key::test(5), &[0; 3_000]);
    assert!(!file(dir.path(), 5).exists(), "larger than all the room");
}

#[test]
fn what_was_not_finished_is_swept_unless_someone_is_at_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tmp-left"), b"half").unwrap();
    let busy = fs::File::create(dir.path().join("tmp-busy")).unwrap();
    busy.lock().unwrap();
    cache(dir.path());
    assert!(!dir.path().join("tmp-left").exists() && dir.path().join("tmp-busy").exists());
}

#[test]
fn a_lock_is_one_servers_until_it_is_given_up_or_nobody_has_it_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (cache(dir.path()), cache(dir.path()));
    let lock = first.lock(&Key::test(1), false).unwrap().unwrap();
    assert!(second.lock(&Key::test(1), false).unwrap().is_none());
    assert!(second.lock(&Key::test(2), false).unwrap().is_some(), "of another file");
    let again = second.lock(&Key::test(1), true).unwrap().unwrap();
    assert!(first.lock(&Key::test(1), true).unwrap().is_none(), "two at most");
    second.unlock(again);
    let shared = lock.share().unwrap();
    drop(lock);
    cache(dir.path());
    assert!(
        second.lock(&Key::test(1), false).unwrap().is_none(),
        "a server that begins takes it from nobody"
    );
    drop(shared);
    let lock = second.lock(&Key::test(1), false).unwrap().unwrap();
    second.unlock(lock);
    drop(first.lock(&Key::test(3), false).unwrap().unwrap());
    cache(dir.path());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, [SECRET], "locks that were left are swept");
}

#[test]
fn many_servers_that_begin_at_once_have_one_secret() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    std::thread::scope(|scope| {
        for key in 0..16 {
            scope.spawn(move || cache(path).insert(&Key::test(key), &[key; 64]));
        }
    });
    let cache = cache(dir.path());
    assert!((0..16).all(|key| recalled(&cache, key).is_some_and(|code| code == [key; 64])));
}
