//! Why a file is not served: what is wrong with it, what would help, and whether waiting would.

use super::signature::SignatureError;
use super::{CallError, GuestError};
use crate::sandbox::CompileError;

/// Why a component is not a plugin. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nobody who is trusted vouches for it.
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
    /// It has none of our exports, and no functions of its own.
    #[error(
        "is a component of another world: it exports {found}{kind}; a plugin exports plugport:plugin/tools@{0}, \
         plugport:plugin/resources@{0} or plugport:plugin/prompts@{0}, or functions of its own, so build it as a library \
         against this server's WIT, or against one of your own with functions in it",
        super::WIT_VERSION
    )]
    OtherWorld {
        /// What it exports instead.
        found: String,
        /// What that makes it, if it is known.
        kind: &'static str,
    },
    /// It has functions of its own, and none can be called with JSON.
    #[error(
        "exports functions, and none of them can be a tool: {0}; export functions whose parameters and results are values"
    )]
    NoTools(String),
    /// It was built against another line of our WIT.
    #[error(
        "was built for plugport:plugin@{wanted}, whose {interface} it {way}; this server speaks plugport:plugin@{}, so rebuild \
         the plugin with the SDK or the WIT of that version",
        super::WIT_VERSION
    )]
    OtherVersion {
        /// The version it exports or imports.
        wanted: String,
        /// The interface by which that is known.
        interface: String,
        /// `exports` or `imports`.
        way: &'static str,
    },
    /// An import that nothing here provides, or a function of another type.
    #[error(
        "does not fit this server's interfaces; rebuild it against plugport:plugin@{} and WASI 0.2",
        super::WIT_VERSION
    )]
    Unlinkable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It could not be started or did not list.
    #[error("could not be started")]
    Start(#[source] CallError),
    /// It did not list, and what plugins keep could not be had meanwhile: a guest may take that for its end, or wait
    /// too long.
    #[error("could not be started while another process kept the database of the plugins locked")]
    StoreInUse(#[source] CallError),
    /// It answered the listing with an error.
    #[error("failed to list its items: {}", .0.in_words())]
    ListingFailed(GuestError),
    /// Looking at it failed.
    #[error("could not be examined; please report it with the file")]
    Unexamined,
}

impl LoadError {
    /// Whether only other bytes or settings can help.
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
            Self::OtherWorld { .. } | Self::NoTools(_) | Self::OtherVersion { .. } | Self::Unlinkable(_) => {
                true
            }
            _ => false,
        }
    }

    /// Whether the same file may well load in a while: it was this machine that failed.
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

    /// Whether it may be for want of something that it could not tell what it lists.
    #[must_use]
    pub fn is_listing_failure(&self) -> bool {
        matches!(self, Self::Start(_) | Self::StoreInUse(_) | Self::ListingFailed(_))
    }
}
