//! `algorithms`: what tokens may be signed with.
//!
//! `none` and algorithms with a shared secret have no variant: a server that can verify such a token can also forge it.
//! ES512 has none either, since the cryptography of this program (ring) lacks its curve.

use toml::de::DeValue;

use crate::toml_reader::{TomlEntry, TomlReader, nearest};

/// An algorithm of RFC 7518 or RFC 8037, with a key pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    /// The algorithms and their names. `EdDSA` is also known as `Ed25519` (RFC 9864).
    const NAMES: [(&'static str, Self); 10] = [
        ("RS256", Self::Rs256),
        ("RS384", Self::Rs384),
        ("RS512", Self::Rs512),
        ("PS256", Self::Ps256),
        ("PS384", Self::Ps384),
        ("PS512", Self::Ps512),
        ("ES256", Self::Es256),
        ("ES384", Self::Es384),
        ("EdDSA", Self::EdDsa),
        ("Ed25519", Self::EdDsa),
    ];

    /// The algorithms of an issuer that names none.
    pub(super) const DEFAULT: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    /// The names of all algorithms.
    #[must_use]
    pub fn names() -> [&'static str; 10] {
        Self::NAMES.map(|(name, _)| name)
    }

    /// The algorithm of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    pub(super) fn read_all(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let is_array = matches!(entry.value, DeValue::Array(_));
        let names = entry.array(reader);
        if names.is_empty() && is_array {
            reader.report(
                span,
                &path,
                "must name the algorithms that tokens may be signed with, such as [\"ES256\"]",
            );
        }
        names.iter().filter_map(|name| Self::read(name, reader)).collect()
    }

    fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let name = entry.string(reader)?;
        let algorithm = Self::parse(&name);
        if algorithm.is_none() {
            let known = Self::names();
            let why = if name == "none" || name.starts_with("HS") {
                format!("`{name}` lets others forge tokens; use an algorithm with a key pair, such as ES256")
            } else {
                let hint = nearest(&name, &known).map(|near| format!("; did you mean `{near}`?"));
                format!(
                    "`{name}` is not known{} (known here: {})",
                    hint.unwrap_or_default(),
                    known.join(", ")
                )
            };
            reader.report(entry.span.clone(), &entry.key, why);
        }
        algorithm
    }
}
