//! The values that instances pass to each other, and their string encodings.

/// The string encoding of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
    /// `latin1+utf16`: each text says which of the two it is.
    Compact,
}

/// The type of the passed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedValue {
    /// One text.
    Text,
    /// So many texts, all of them the same one.
    Texts(u32),
    /// So many texts, with a number and another text beside each.
    Records(u32),
    /// So many texts that could be missing.
    Options(u32),
    /// Bytes, which need no translation.
    Bytes,
    /// The same bytes as numbers.
    Numbers,
}

pub const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Compact];

impl Encoding {
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Utf8 => "string-encoding=utf8",
            Self::Utf16 => "string-encoding=utf16",
            Self::Compact => "string-encoding=latin1+utf16",
        }
    }

    /// A byte that is valid wherever it is repeated. Wide: U+4141 in UTF-16, é in Latin-1.
    pub(super) fn filling(self, wide: bool) -> u32 {
        match (self, wide) {
            (_, false) => 0,
            (Self::Compact, true) => 0xe9,
            (Self::Utf8 | Self::Utf16, true) => 0x41,
        }
    }

    /// The length in the canonical ABI of so many bytes.
    pub(super) fn length(self, bytes: u32) -> u32 {
        if self == Self::Utf16 { bytes / 2 } else { bytes }
    }
}

impl PassedValue {
    pub(super) fn shape(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Texts(_) => "(list string)",
            Self::Records(_) => "(list (tuple string u64 string))",
            Self::Options(_) => "(list (option string))",
            Self::Bytes => "(list u8)",
            Self::Numbers => "(list u64)",
        }
    }

    /// The number of entries of the list, and the size of one.
    pub(super) fn entries(self) -> (u32, u32) {
        match self {
            Self::Texts(count) => (count, 8),
            Self::Records(count) => (count, 24),
            Self::Options(count) => (count, 12),
            Self::Text | Self::Bytes | Self::Numbers => (0, 0),
        }
    }
}
