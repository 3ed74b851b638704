//! What a tool will be given, as far as it is known: copies of the sources, and a builder that stays where it is.
//!
//! The builder is large and is not copied. It is read once more after it has run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::inputs::Inputs;
use super::not_reproducible::NotReproducible;

/// The folder of copies in the scratch folder.
const COPIES: &str = "inputs";

/// Adds what a tool reads where it is.
pub(super) type InPlace = Arc<dyn Fn(&mut Inputs) -> Result<(), NotReproducible> + Send + Sync>;

/// The inputs of one build.
pub(super) struct KnownInputs {
    /// The digest of all of them.
    pub(super) digest: String,
    in_place: InPlace,
    /// The digest of what is not copied.
    digest_in_place: String,
}

impl KnownInputs {
    /// Reads the inputs. `copy` copies some of them below the folder that it is given.
    pub(super) async fn read<T: Send + 'static>(
        scratch: &Path,
        in_place: InPlace,
        copy: impl FnOnce(&mut Inputs, &Path) -> Result<T, NotReproducible> + Send + 'static,
    ) -> Result<(T, Self), NotReproducible> {
        let copies = scratch.join(COPIES);
        spawn_blocking(move || read(copies, in_place, copy)).await?
    }

    /// The copies; what is `here` if there are none.
    pub(super) fn or_here<T>(
        read: Result<(T, Self), NotReproducible>,
        here: T,
    ) -> (T, Result<Self, NotReproducible>) {
        match read {
            Ok((copies, known)) => (copies, Ok(known)),
            Err(why) => (here, Err(why)),
        }
    }

    /// Whether what is not copied is what it was. This takes long.
    pub(super) fn check(&self) -> Result<(), NotReproducible> {
        match digest_in_place(&self.in_place)? == self.digest_in_place {
            true => Ok(()),
            false => Err(NotReproducible::Replaced),
        }
    }
}

fn read<T>(
    copies: PathBuf,
    in_place: InPlace,
    copy: impl FnOnce(&mut Inputs, &Path) -> Result<T, NotReproducible>,
) -> Result<(T, KnownInputs), NotReproducible> {
    let digest_in_place = digest_in_place(&in_place)?;
    let mut inputs = Inputs::default();
    inputs.value(digest_in_place.as_bytes());
    // Half a copy is of no use, and may be large.
    let copied = copy(&mut inputs, &copies).inspect_err(|_| drop(std::fs::remove_dir_all(&copies)))?;
    Ok((copied, KnownInputs { digest: inputs.digest(), in_place, digest_in_place }))
}

fn digest_in_place(in_place: &InPlace) -> Result<String, NotReproducible> {
    let mut inputs = Inputs::default();
    in_place(&mut inputs)?;
    Ok(inputs.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf) -> InPlace {
        Arc::new(move |inputs: &mut Inputs| inputs.file(&path))
    }

    #[tokio::test]
    async fn a_builder_that_is_replaced_while_it_runs_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let builder = dir.path().join("builder");
        std::fs::write(&builder, "1").unwrap();
        let copy = |inputs: &mut Inputs, _: &Path| {
            inputs.value(b"source");
            Ok(())
        };
        let ((), known) = KnownInputs::read(dir.path(), file(builder.clone()), copy).await.unwrap();
        known.check().unwrap();
        std::fs::write(&builder, "2").unwrap();
        assert!(matches!(known.check(), Err(NotReproducible::Replaced)));
        let ((), other) = KnownInputs::read(dir.path(), file(builder), copy).await.unwrap();
        assert_ne!(other.digest, known.digest);
    }

    #[tokio::test]
    async fn half_a_copy_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let copy = |_: &mut Inputs, copies: &Path| -> Result<(), NotReproducible> {
            std::fs::create_dir(copies).unwrap();
            Err(NotReproducible::TooLarge)
        };
        let known = KnownInputs::read(dir.path(), Arc::new(|_: &mut Inputs| Ok(())), copy).await;
        assert!(matches!(known, Err(NotReproducible::TooLarge)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
