use super::*;
use std::os::unix::fs::PermissionsExt as _;

/// Starts a server that replies with `document`. Returns its task and the token that stops it.
async fn serve(state: &Path, document: &'static str) -> (tokio::task::JoinHandle<()>, CancellationToken) {
    let stop = CancellationToken::new();
    let socket = StatusSocket::bind(state).await.unwrap();
    (tokio::spawn(socket.serve(move || document.as_bytes().to_vec(), stop.clone())), stop)
}

async fn answers(state: &Path) -> Vec<String> {
    let answers = query(state).await.unwrap().into_iter();
    answers.map(|(_, answer)| String::from_utf8(answer.unwrap()).unwrap()).collect()
}

fn names(state: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(state.join("run")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn every_server_of_a_folder_answers_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    assert!(answers(&state).await.is_empty(), "nothing is made by asking");
    assert!(!state.exists());
    let (first, stop_first) = serve(&state, "one").await;
    let (second, stop_second) = serve(&state, "two").await;
    assert_eq!(names(&state).len(), 2);
    let mut found = answers(&state).await;
    found.sort();
    assert_eq!(found, ["one", "two"]);
    assert_eq!(answers(&state).await.len(), 2, "and again");
    stop_first.cancel();
    first.await.unwrap();
    assert_eq!(answers(&state).await, ["two"]);
    stop_second.cancel();
    second.await.unwrap();
    assert!(names(&state).is_empty());
}

#[tokio::test]
async fn nobody_else_may_open_the_folder_or_the_socket() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let socket = StatusSocket::bind(dir.path()).await.unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&run), mode(&run.join(&socket.name))), (0o700, 0o600));
    drop(socket);
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(StatusSocket::bind(dir.path()).await, Err(StatusSocketError::Folder(..))));
    assert!(matches!(query(dir.path()).await, Err(StatusSocketError::Folder(..))));
}

#[tokio::test]
async fn what_a_killed_server_left_is_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).unwrap();
    let leave = || drop(std::os::unix::net::UnixListener::bind(run.join("1.sock")).unwrap());
    leave();
    assert!(answers(dir.path()).await.is_empty());
    assert!(names(dir.path()).is_empty());
    leave();
    let socket = StatusSocket::bind(dir.path()).await.unwrap();
    assert_eq!(names(dir.path()), std::slice::from_ref(&socket.name));
}

#[tokio::test]
async fn a_server_among_many_that_were_killed_is_found_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (serving, stop) = serve(dir.path(), "alive").await;
    let run = dir.path().join("run");
    for number in 0..1_000 {
        drop(std::os::unix::net::UnixListener::bind(run.join(format!("{number}-left.sock"))).unwrap());
    }
    let begun = std::time::Instant::now();
    assert_eq!(answers(dir.path()).await, ["alive"]);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(names(dir.path()).len(), 1);
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn what_a_server_left_that_was_killed_before_it_listened_is_taken_away_later() {
    let dir = tempfile::tempdir().unwrap();
    drop(StatusSocket::bind(dir.path()).await.unwrap());
    assert!(names(dir.path()).is_empty());
    let (old, new) = (dir.path().join("run/1-old.new"), dir.path().join("run/1-new.new"));
    let made = std::fs::File::create(&old).unwrap();
    made.set_modified(std::time::SystemTime::now() - Duration::from_secs(600)).unwrap();
    std::fs::write(&new, "").unwrap();
    drop(StatusSocket::bind(dir.path()).await.unwrap());
    assert_eq!((old.exists(), new.exists()), (false, true), "another server may be about to listen");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_path_of_any_length_will_do() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("long".repeat(50)).join("state");
    let (serving, stop) = serve(&state, "far away").await;
    assert_eq!(answers(&state).await, ["far away"]);
    stop.cancel();
    serving.await.unwrap();
    assert!(names(&state).is_empty());
}

/// The document is larger than the socket's buffers, and the client never reads.
#[tokio::test]
async fn who_does_not_read_holds_up_the_next_for_a_moment_only() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let socket = StatusSocket::bind(dir.path()).await.unwrap();
    let idle = UnixStream::connect(socket.folder.address(&socket.name).unwrap()).await.unwrap();
    let serving = tokio::spawn(socket.serve(|| vec![b'x'; 8 << 20], stop.clone()));
    let found = query(dir.path()).await.unwrap();
    assert!(matches!(found.as_slice(), [(_, Ok(answer))] if answer.len() == 8 << 20));
    stop.cancel();
    serving.await.unwrap();
    drop(idle);
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let socket = StatusSocket::bind(dir.path()).await.unwrap();
    let serving = tokio::spawn(socket.serve(|| vec![b'x'; 17 << 20], stop.clone()));
    let found = query(dir.path()).await.unwrap();
    assert!(matches!(found.as_slice(), [(_, Err(StatusQueryError::TooLong))]));
    stop.cancel();
    serving.await.unwrap();
}
