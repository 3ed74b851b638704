//! Why a file is rejected, what the author or the operator can do, and whether loading it again may help.

use plugport_common::ShippedFilesError;

use super::file_signature::SignatureError;
use super::other_host::OtherHost;
use super::{CallError, GuestError};
use crate::sandbox::CompileError;

/// Why a component is not a plugin. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No trusted key has signed it.
    #[error("is rejected for its signature, {file}")]
    Signature {
        /// The name of the signature's file.
        file: String,
        /// What is wrong with it.
        source: SignatureError,
    },
    /// It could not be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The files in it cannot be used.
    #[error(transparent)]
    Files(#[from] ShippedFilesError),
    /// It exports no interface of `plugport:plugin` and no functions.
    #[error(
        "is a component of another world: it exports {exports}{kind}; a plugin exports plugport:plugin/tools@{0}, \
         plugport:plugin/resources@{0} or plugport:plugin/prompts@{0}, or functions of its own, so build it as a library \
         against this server's WIT, or against one of your own with functions in it",
        super::WIT_VERSION
    )]
    OtherWorld {
        /// Its exports.
        exports: String,
        /// What it is instead, if its exports show that.
        kind: &'static str,
    },
    /// None of its functions can be called with JSON.
    #[error(
        "exports functions, and none of them can be a tool: {0}; export functions whose parameters and results are values"
    )]
    NoTools(String),
    /// It was built for an incompatible version of `plugport:plugin`.
    #[error(
        "was built for plugport:plugin@{version}, whose {interface} it {way}; this server speaks plugport:plugin@{}, so rebuild \
         the plugin with the SDK or the WIT of that version",
        super::WIT_VERSION
    )]
    OtherVersion {
        /// The version it exports or imports.
        version: String,
        /// The interface that has this version.
        interface: String,
        /// `exports` or `imports`.
        way: &'static str,
    },
    /// Another host can run it, and this one cannot.
    #[error("{}", .0.in_words())]
    OtherHost(OtherHost),
    /// It imports an interface that the server does not have.
    #[error("imports {import}, {here}")]
    MissingImport {
        /// The name of the import, shortened.
        import: String,
        /// What this server has instead, and what can be done.
        here: String,
    },
    /// It imports a function with another type, or exports an interface without a function.
    #[error(
        "does not fit this server's interfaces; rebuild it against plugport:plugin@{} and WASI 0.2",
        super::WIT_VERSION
    )]
    Unlinkable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It could not be started or did not list.
    #[error("could not be started")]
    Start(#[source] CallError),
    /// It did not list, and the key-value database was locked meanwhile: a guest may fail or wait too long for that
    /// reason.
    #[error("could not be started while another process kept the database of the plugins locked")]
    StoreInUse(#[source] CallError),
    /// A `list-*` function returned an error.
    #[error("failed to list its items: {}", .0.in_words())]
    ListingFailed(GuestError),
    /// A task of the loader panicked.
    #[error("could not be examined; please report it with the file")]
    Unexamined,
}

impl LoadError {
    /// Whether the same file fails again with the same settings.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Compile(error) => {
                matches!(
                    error,
                    CompileError::Invalid(_)
                        | CompileError::Async(_)
                        | CompileError::Memory(_)
                        | CompileError::Large(_)
                )
            }
            Self::Files(_)
            | Self::OtherWorld { .. }
            | Self::NoTools(_)
            | Self::OtherVersion { .. }
            | Self::OtherHost(_)
            | Self::MissingImport { .. }
            | Self::Unlinkable(_) => true,
            _ => false,
        }
    }

    /// Whether the same file may load later: the machine failed, and not the file.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Compile(error) => matches!(error, CompileError::Killed | CompileError::Unavailable(_)),
            Self::Start(failure) => {
                matches!(failure, CallError::Busy { .. } | CallError::Full | CallError::Host(_))
            }
            Self::StoreInUse(_) => true,
            _ => false,
        }
    }

    /// Whether listing failed, which a missing grant or setting may cause.
    #[must_use]
    pub fn is_listing_failure(&self) -> bool {
        matches!(self, Self::Start(_) | Self::StoreInUse(_) | Self::ListingFailed(_))
    }
}
