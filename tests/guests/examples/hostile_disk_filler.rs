//! Fills the disk, in every way that there is: many bytes, many files, files that are long without bytes, files that
//! are deleted and still there.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, DescriptorFlags, OpenFlags, PathFlags};

const PIECE: usize = 64 << 10;

/// What an endless attempt ended with, and how far it came.
fn ended(count: u64, error: impl std::fmt::Display) -> String {
    format!("{count}: {error}")
}

fn append(file: &mut File) -> (u64, io::Error) {
    let piece = vec![b'x'; PIECE];
    let mut written = 0;
    loop {
        match file.write(&piece) {
            Ok(more) => written += more as u64,
            Err(error) => return (written, error),
        }
    }
}

/// Write one file until no more can be written.
#[tool]
fn fill(directory: String) -> io::Result<String> {
    let mut file = File::create(format!("{directory}/filled"))?;
    let (written, error) = append(&mut file);
    Ok(ended(written, error))
}

/// The same without the standard library, which makes an I/O error of every error of a stream.
#[tool]
fn pour(directory: String) -> Result<String, String> {
    let words = |error: wasi_fs::ErrorCode| error.to_string();
    let (follow, write) = (PathFlags::empty(), DescriptorFlags::WRITE);
    let file =
        wasi_fs::granted(&directory)?.open_at(follow, "poured", OpenFlags::CREATE, write).map_err(words)?;
    let stream = file.write_via_stream(0).map_err(words)?;
    for count in 0.. {
        if let Err(error) = stream.blocking_write_and_flush(&[b'x'; 4096]) {
            return Ok(ended(count * 4096, wasi_fs::stream_error(&error)));
        }
    }
    Ok(String::new())
}

/// The same by appending, a piece at a time, to a file that is opened anew for each.
#[tool]
fn append_all(directory: String) -> io::Result<String> {
    let mut written = 0;
    loop {
        let mut file =
            fs::OpenOptions::new().append(true).create(true).open(format!("{directory}/appended"))?;
        match file.write(&[b'x'; PIECE]) {
            Ok(more) => written += more as u64,
            Err(error) => return Ok(ended(written, error)),
        }
    }
}

/// Make empty files until no more can be made.
#[tool]
fn crowd(directory: String) -> String {
    let made = (0..1_000_000_u64).map(|n| File::create(format!("{directory}/{n}")).map(drop));
    for (count, made) in (0..).zip(made) {
        if let Err(error) = made {
            return ended(count, error);
        }
    }
    "a million files".to_owned()
}

/// Make folders in folders until no more can be made.
#[tool]
fn nest(directory: String) -> Result<String, String> {
    let mut folder = wasi_fs::granted(&directory)?;
    for count in 0..1_000_000 {
        if let Err(error) = folder.create_directory_at("d") {
            return Ok(ended(count, error));
        }
        let read = DescriptorFlags::READ;
        match folder.open_at(PathFlags::empty(), "d", OpenFlags::DIRECTORY, read) {
            Ok(inner) => folder = inner,
            Err(error) => return Ok(ended(count, error)),
        }
    }
    Ok("a million folders".to_owned())
}

/// Make files that are a tebibyte long, in three ways.
#[tool]
fn sparse(directory: String) -> io::Result<Vec<String>> {
    let mut file = File::create(format!("{directory}/sparse"))?;
    let mut told = Vec::new();
    told.push(file.set_len(1 << 40).map_or_else(|error| error.to_string(), |()| "done".to_owned()));
    file.seek(SeekFrom::Start(1 << 40))?;
    told.push(file.write(b"x").map_or_else(|error| error.to_string(), |_| "done".to_owned()));
    let raw = wasi_fs::granted(&directory).map_err(io::Error::other)?;
    let write = DescriptorFlags::WRITE;
    let opened = raw.open_at(PathFlags::empty(), "sparse", OpenFlags::empty(), write);
    let opened = opened.map_err(io::Error::other)?;
    for offset in [1 << 40, 1 << 62, u64::MAX] {
        told.push(opened.write(b"x", offset).map_or_else(|error| error.to_string(), |_| "done".to_owned()));
    }
    Ok(told)
}

/// Fill a file, delete it, keep it open, and begin anew.
#[tool]
fn hoard(directory: String, times: u64) -> io::Result<Vec<String>> {
    let mut kept = Vec::new();
    let mut told = Vec::new();
    for _ in 0..times {
        let path = format!("{directory}/hoarded");
        let mut file = match File::create(&path) {
            Ok(file) => file,
            Err(error) => {
                told.push(ended(0, error));
                continue;
            }
        };
        let (written, error) = append(&mut file);
        told.push(ended(written, error));
        fs::remove_file(&path)?;
        kept.push(file);
    }
    Ok(told)
}

/// Rewrite one file so often, and say how often that worked.
#[tool]
fn rewrite(directory: String, times: u64, kib: usize) -> io::Result<String> {
    let text = vec![b'x'; kib << 10];
    for _ in 0..times {
        fs::write(format!("{directory}/rewritten"), &text)?;
    }
    Ok(format!("{times} times"))
}

/// Make a file and delete it again, so often.
#[tool]
fn churn(directory: String, times: u64) -> io::Result<String> {
    let path = format!("{directory}/churned");
    for _ in 0..times {
        fs::write(&path, "x")?;
        fs::remove_file(&path)?;
    }
    Ok(format!("{times} times"))
}

/// Delete all files.
#[tool]
fn tidy(directory: String) -> io::Result<&'static str> {
    for entry in fs::read_dir(directory)? {
        fs::remove_file(entry?.path())?;
    }
    Ok("tidy")
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [fill, pour, append_all, crowd, nest, sparse, hoard, rewrite, churn, tidy, ok] }
