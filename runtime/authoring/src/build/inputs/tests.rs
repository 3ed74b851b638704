use std::fs;

use super::*;

fn digest(add: impl Fn(&mut Inputs)) -> String {
    let mut inputs = Inputs::default();
    add(&mut inputs);
    inputs.digest()
}

fn of(folder: &Path) -> String {
    digest(|inputs| inputs.folder(folder, &|_| false).unwrap())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."))
}

#[test]
fn the_same_files_have_one_digest_in_every_folder() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for (folder, order) in folders.iter().zip([["a.py", "b.py"], ["b.py", "a.py"]]) {
        for file in order {
            fs::write(folder.path().join(file), file).unwrap();
        }
        fs::create_dir(folder.path().join("x")).unwrap();
    }
    let [one, other] = folders.each_ref().map(tempfile::TempDir::path);
    assert_eq!(of(one), of(other));
    let before = of(one);
    fs::write(one.join("x/c.py"), "").unwrap();
    assert_ne!(of(one), before, "a new file");
    assert_eq!(digest(|inputs| inputs.folder(one, &|path| path.ends_with("c.py")).unwrap()), before);
    fs::rename(one.join("x/c.py"), one.join("c.py")).unwrap();
    let above = of(one);
    fs::rename(one.join("c.py"), one.join("x/c.py")).unwrap();
    assert_ne!(of(one), above, "the same file in another folder");
    fs::write(other.join("a.py"), "b.py").unwrap();
    assert_ne!(of(other), before, "another content of the same length");
    let before = of(one);
    symlink("x", one.join("y")).unwrap();
    assert_ne!(of(one), before, "a link to a folder");
}

#[test]
fn a_copy_has_what_counts_and_nothing_else() {
    let [dir, copies] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (root, copy) = (dir.path(), copies.path().join("copy"));
    for folder in ["x", ".hidden"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    for file in ["x/a.py", ".hidden/b.py", ".c"] {
        fs::write(root.join(file), vec![7_u8; 2 * PIECE + 1]).unwrap();
    }
    symlink("x", root.join("y")).unwrap();
    symlink(root.join("x/a.py"), root.join("d.py")).unwrap();
    symlink("nothing", root.join("e.py")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(root.join("f")).unwrap();
    let copied = digest(|inputs| inputs.copy(root, &copy, &is_hidden).unwrap());
    assert_eq!(copied, digest(|inputs| inputs.folder(root, &is_hidden).unwrap()));
    assert_eq!(copied, of(&copy), "the tool sees what has this digest");
    let mut names: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["d.py", "x", "y"]);
    assert_eq!(fs::read_link(copy.join("y")).unwrap(), Path::new("x"));
    assert!(fs::symlink_metadata(copy.join("d.py")).unwrap().is_file());
    assert_eq!(fs::read(copy.join("y/a.py")).unwrap(), vec![7_u8; 2 * PIECE + 1]);
    drop(socket);
}

#[test]
fn a_link_to_a_folder_that_does_not_count_is_told() {
    let [dir, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fs::create_dir_all(dir.path().join(".hidden/in")).unwrap();
    fs::create_dir(dir.path().join("x")).unwrap();
    let link = dir.path().join("link");
    let x = dir.path().join("x");
    for target in [other.path(), x.as_path(), Path::new(".hidden/in"), Path::new("link")] {
        symlink(target, &link).unwrap();
        let told = Inputs::default().folder(dir.path(), &is_hidden).unwrap_err().to_string();
        assert!(told.contains("link"), "{told}");
        fs::remove_file(&link).unwrap();
    }
    symlink(".", &link).unwrap();
    Inputs::default().folder(dir.path(), &is_hidden).unwrap();
}

#[test]
fn what_is_too_large_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create(dir.path().join("a")).unwrap();
    file.set_len(2).unwrap();
    let told = |mut inputs: Inputs| inputs.folder(dir.path(), &|_| false).unwrap_err();
    let full = || Inputs { bytes: MAX_BYTES - 1, ..Inputs::default() };
    assert!(matches!(told(full()), NotReproducible::TooLarge));
    assert!(matches!(told(Inputs { entries: MAX_ENTRIES, ..full() }), NotReproducible::TooLarge));
    file.set_len(MAX_TEXT + 1).unwrap();
    let text = Inputs::default().text(&dir.path().join("a"));
    assert!(matches!(text, Err(NotReproducible::TooLarge)));
}

#[test]
fn values_have_bounds() {
    let values = |values: &[&[u8]]| digest(|inputs| values.iter().for_each(|value| inputs.value(value)));
    assert_ne!(values(&[b"a", b"bc"]), values(&[b"ab", b"c"]));
    assert_ne!(values(&[b"a"]), values(&[b"a", b""]));
}
