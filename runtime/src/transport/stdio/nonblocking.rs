//! Reads and writes stdin and stdout without blocking, and without side effects for other processes that share them.
//!
//! `O_NONBLOCK` belongs to the open file description, which other processes may share: a shell that runs other programs
//! with the same stdin, a supervisor that kept a copy, or stderr after `2>&1`. If the flag is set, their reads and
//! writes fail with `EAGAIN`, even after this program has ended, and lines of the log are lost. So the flag is never
//! set on a description that came from outside (`docs/decisions/0036-stdio.md`):
//!
//! - An anonymous pipe is opened again through `/proc`, which makes a new description; libuv does so for terminals.
//! - A socket cannot be opened again. Instead each call on it has the flag `MSG_DONTWAIT`.
//!
//! A named pipe is not handled: if its last writer is gone before it is opened again, its end is never reported.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, FsWord, Mode, OFlags, fcntl_getfl, fstat, fstatfs};
use rustix::net::sockopt::socket_type;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, SocketType, recv, sendmsg};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

use super::{Reader, Writer};

/// The file system type of anonymous pipes, as `linux/magic.h` defines it.
const PIPEFS_MAGIC: FsWord = 0x5049_5045;

/// Makes a reader of `stdin` that does not block.
///
/// # Errors
/// When `stdin` cannot be read in this way, for example because it is a file.
pub(super) fn reader(stdin: BorrowedFd<'_>) -> io::Result<Reader> {
    match file_type(stdin)? {
        FileType::Fifo => {
            Ok(Box::new(pipe::Receiver::from_owned_fd_unchecked(reopen(stdin, OFlags::RDONLY)?)?))
        }
        FileType::Socket => {
            Ok(Box::new(SocketReader(pipe::Receiver::from_owned_fd_unchecked(stream_socket(stdin)?)?)))
        }
        _ => Err(unsupported()),
    }
}

/// Makes a writer of `stdout` that does not block.
///
/// # Errors
/// When `stdout` cannot be written in this way, for example because it is a file.
pub(super) fn writer(stdout: BorrowedFd<'_>) -> io::Result<Writer> {
    match file_type(stdout)? {
        FileType::Fifo => {
            Ok(Box::new(pipe::Sender::from_owned_fd_unchecked(reopen(stdout, OFlags::WRONLY)?)?))
        }
        FileType::Socket => {
            Ok(Box::new(SocketWriter(pipe::Sender::from_owned_fd_unchecked(stream_socket(stdout)?)?)))
        }
        _ => Err(unsupported()),
    }
}

fn file_type(fd: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "it is neither an anonymous pipe nor a stream socket")
}

/// Opens a pipe again with `access`, which its descriptor must have.
fn reopen(fd: BorrowedFd<'_>, access: OFlags) -> io::Result<OwnedFd> {
    if fstatfs(fd)?.f_type != PIPEFS_MAGIC {
        return Err(unsupported());
    }
    let granted = fcntl_getfl(fd)? & OFlags::RWMODE;
    if granted != access && granted != OFlags::RDWR {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "it is the other end of a pipe"));
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::open(path, access | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// Duplicates the descriptor of a socket, because stdin and stdout may be the same socket, and each is polled
/// separately.
fn stream_socket(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    if socket_type(fd)? != SocketType::STREAM {
        return Err(unsupported());
    }
    fd.try_clone_to_owned()
}

/// Reads a socket. It uses `pipe::Receiver`, which can poll any descriptor; `AsyncFd` cannot be made without `unsafe`.
struct SocketReader(pipe::Receiver);

impl AsyncRead for SocketReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            match self.0.try_io(|| Ok(recv(&self.0, unfilled, RecvFlags::DONTWAIT)?)) {
                Ok((received, _)) => {
                    buffer.advance(received);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Writes a socket. It uses `pipe::Sender` for the same reason.
struct SocketWriter(pipe::Sender);

impl AsyncWrite for SocketWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let send = || Ok(sendmsg(&self.0, slices, &mut SendAncillaryBuffer::default(), flags)?);
            match self.0.try_io(send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::process::Command;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn is_nonblocking(fd: impl AsFd) -> bool {
        fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
    }

    /// Reads two texts of a client, and then the end.
    async fn reads(stdin: impl AsFd, mut client: impl io::Write) {
        let mut reader = reader(stdin.as_fd()).unwrap();
        let mut buffer = [0; 64];
        for text in ["one", "another"] {
            client.write_all(text.as_bytes()).unwrap();
            let read = reader.read(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..read], text.as_bytes());
            // A read without data must not block the thread.
            let waits = tokio::time::timeout(Duration::from_millis(5), reader.read(&mut buffer));
            assert!(waits.await.is_err());
        }
        drop(client);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 0);
        assert!(!is_nonblocking(stdin));
    }

    /// Fills stdout, then reads everything.
    async fn writes(stdout: impl AsFd, mut client: impl io::Read + Send + 'static) {
        const BYTES: usize = 4 << 20;
        let mut writer = writer(stdout.as_fd()).unwrap();
        let sent = vec![b'x'; BYTES];
        let mut written = 0;
        let filling = async {
            while written < BYTES {
                written += writer.write(&sent[written..]).await.unwrap();
            }
        };
        let full = tokio::time::timeout(Duration::from_millis(20), filling);
        assert!(full.await.is_err(), "it holds {BYTES} bytes");
        let reading = std::thread::spawn(move || {
            let mut received = vec![0; BYTES];
            client.read_exact(&mut received).unwrap();
            client
        });
        writer.write_all(&sent[written..]).await.unwrap();
        assert!(!is_nonblocking(&stdout));
        drop(reading.join().unwrap());
        let closed = writer.write_all(&sent).await.unwrap_err();
        assert!(
            matches!(closed.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset),
            "{closed}"
        );
    }

    #[tokio::test]
    async fn a_pipe_is_read_and_written_without_a_flag_that_others_see() {
        let (stdin, client) = io::pipe().unwrap();
        reads(stdin, client).await;
        let (client, stdout) = io::pipe().unwrap();
        writes(stdout, client).await;
    }

    #[tokio::test]
    async fn a_socket_is_read_and_written_without_a_flag_that_others_see() {
        let (stdin, client) = UnixStream::pair().unwrap();
        reads(stdin, client).await;
        let (stdout, client) = UnixStream::pair().unwrap();
        writes(stdout, client).await;
    }

    #[tokio::test]
    async fn one_socket_can_be_both() {
        let (both, client) = UnixStream::pair().unwrap();
        let (mut reader, mut writer) = (reader(both.as_fd()).unwrap(), writer(both.as_fd()).unwrap());
        writer.write_all(b"out").await.unwrap();
        let mut received = [0; 3];
        io::Read::read_exact(&mut &client, &mut received).unwrap();
        assert_eq!(&received, b"out");
        io::Write::write_all(&mut &client, b"in").unwrap();
        let mut received = [0; 2];
        reader.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"in");
    }

    #[tokio::test]
    async fn what_a_client_wrote_before_it_ended_is_read() {
        let (stdin, mut client) = io::pipe().unwrap();
        io::Write::write_all(&mut client, b"last").unwrap();
        drop(client);
        let mut text = String::new();
        reader(stdin.as_fd()).unwrap().read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "last");
    }

    #[tokio::test]
    async fn everything_else_is_left_to_tokio() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("named");
        assert!(Command::new("mkfifo").arg(&named).status().unwrap().success());
        let named = std::fs::File::options().read(true).write(true).open(named).unwrap();
        let null = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let (regular, (datagrams, _client)) = (tempfile::tempfile().unwrap(), UnixDatagram::pair().unwrap());
        for other in [regular.as_fd(), null.as_fd(), named.as_fd(), datagrams.as_fd()] {
            assert!(reader(other).is_err() && writer(other).is_err());
        }
        // For example, if stdin and stdout were swapped by mistake.
        let (read_end, write_end) = io::pipe().unwrap();
        assert!(reader(write_end.as_fd()).is_err() && writer(read_end.as_fd()).is_err());
    }
}
