//! One public key of an issuer (RFC 7517), as a type that fits certain algorithms only.
//!
//! The sender of a token chooses the algorithm in its header, so the key decides whether that algorithm may be used: an
//! RSA key verifies no ECDSA signature, and a key for encryption verifies nothing.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};

use crate::config::JwtAlgorithm;

/// Minimum and maximum length of an RSA modulus, in bytes: 2048 to 8192 bits.
const RSA_MODULUS: std::ops::RangeInclusive<usize> = 256..=1_024;

/// Maximum length of an RSA exponent that `ring` accepts, in bytes.
const RSA_EXPONENT: usize = 5;

/// Members of private and symmetric keys (RFC 7518, 6).
const SECRET_MEMBERS: [&str; 8] = ["d", "k", "p", "q", "dp", "dq", "qi", "oth"];

/// Maximum length of a `kid`, in bytes.
const MAX_KID: usize = 1_024;

/// A key that verifies signatures.
#[derive(Debug)]
pub(in crate::access::oauth) struct PublicKey {
    kid: Option<Box<str>>,
    /// The algorithm, if the key is restricted to one.
    algorithm: Option<JwtAlgorithm>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    /// An uncompressed point.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Parses a JSON Web Key. Returns `None` if the key cannot verify signatures with a known algorithm. That is no
    /// error, because issuers publish keys for other purposes too.
    pub(in crate::access::oauth) fn read(jwk: &Map<String, Value>) -> Option<Self> {
        // A published private or symmetric key is known to everybody, so its signatures prove nothing.
        let is_secret = SECRET_MEMBERS.iter().any(|name| jwk.contains_key(*name));
        if is_secret || !is_for_signatures(jwk) {
            return None;
        }
        let algorithm = match jwk.get("alg") {
            Some(name) => Some(JwtAlgorithm::parse(name.as_str()?)?),
            None => None,
        };
        let kid = match jwk.get("kid") {
            Some(kid) => Some(kid.as_str().filter(|kid| kid.len() <= MAX_KID)?.into()),
            None => None,
        };
        let key = Self { kid, algorithm, material: KeyMaterial::read(jwk)? };
        key.algorithm.is_none_or(|algorithm| key.material.fits(algorithm)).then_some(key)
    }

    /// Whether the key has this `kid`. Without a `kid`, every key qualifies.
    pub(super) fn is_named(&self, kid: Option<&str>) -> bool {
        kid.is_none_or(|kid| self.kid.as_deref() == Some(kid))
    }

    /// Whether the key may verify signatures with this algorithm.
    pub(in crate::access::oauth) fn fits(&self, algorithm: JwtAlgorithm) -> bool {
        self.algorithm.is_none_or(|only| only == algorithm) && self.material.fits(algorithm)
    }

    /// Whether this key made the signature of this message.
    pub(in crate::access::oauth) fn verify(
        &self,
        algorithm: JwtAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        self.fits(algorithm) && self.material.verify(algorithm, message, signature)
    }
}

/// Whether `use` and `key_ops`, if present, allow verifying signatures.
fn is_for_signatures(jwk: &Map<String, Value>) -> bool {
    let by_use = jwk.get("use").is_none_or(|purpose| purpose == "sig");
    let is_verify = |operations: &Value| {
        operations
            .as_array()
            .is_some_and(|operations| operations.iter().any(|operation| operation == "verify"))
    };
    by_use && jwk.get("key_ops").is_none_or(is_verify)
}

impl KeyMaterial {
    fn read(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &str| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
        match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let (n, e) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
                let is_usable = RSA_MODULUS.contains(&n.len()) && (1..=RSA_EXPONENT).contains(&e.len());
                is_usable.then_some(Self::Rsa(RsaPublicKeyComponents { n, e }))
            }
            ("EC", Some("P-256")) => point(&bytes("x")?, &bytes("y")?, 32).map(Self::P256),
            ("EC", Some("P-384")) => point(&bytes("x")?, &bytes("y")?, 48).map(Self::P384),
            ("OKP", Some("Ed25519")) => bytes("x").filter(|x| x.len() == 32).map(Self::Ed25519),
            _ => None,
        }
    }

    fn fits(&self, algorithm: JwtAlgorithm) -> bool {
        match self {
            Self::Rsa(_) => rsa(algorithm).is_some(),
            Self::P256(_) => algorithm == JwtAlgorithm::Es256,
            Self::P384(_) => algorithm == JwtAlgorithm::Es384,
            Self::Ed25519(_) => algorithm == JwtAlgorithm::EdDsa,
        }
    }

    fn verify(&self, algorithm: JwtAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match self {
            Self::Rsa(key) => {
                rsa(algorithm).is_some_and(|parameters| key.verify(parameters, message, signature).is_ok())
            }
            Self::P256(key) => by(&ECDSA_P256_SHA256_FIXED, key),
            Self::P384(key) => by(&ECDSA_P384_SHA384_FIXED, key),
            Self::Ed25519(key) => by(&ED25519, key),
        }
    }
}

/// The parameters of an algorithm of RSA.
fn rsa(algorithm: JwtAlgorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        JwtAlgorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        JwtAlgorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        JwtAlgorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        JwtAlgorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
        JwtAlgorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
        JwtAlgorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
        JwtAlgorithm::Es256 | JwtAlgorithm::Es384 | JwtAlgorithm::EdDsa => None,
    }
}

/// Removes leading zeros, which `ring` rejects. Some issuers keep the zero of the DER encoding.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

/// Makes an uncompressed point (SEC 1, 2.3.3) from coordinates of `length` bytes. `ring` checks that it is on the
/// curve.
fn point(x: &[u8], y: &[u8], length: usize) -> Option<Vec<u8>> {
    (x.len() == length && y.len() == length).then(|| [&[4], x, y].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(jwk: Value) -> Option<PublicKey> {
        PublicKey::read(jwk.as_object().unwrap())
    }

    fn bytes(count: usize) -> String {
        BASE64URL_NOPAD.encode(&vec![0xa5; count])
    }

    #[test]
    fn a_key_is_for_the_algorithms_of_its_type() {
        use JwtAlgorithm::{EdDsa, Es256, Es384, Ps256, Ps512, Rs256, Rs384};
        let rsa = read(json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB" })).unwrap();
        assert!([Rs256, Rs384, Ps256, Ps512].into_iter().all(|algorithm| rsa.fits(algorithm)));
        assert!(![Es256, Es384, EdDsa].into_iter().any(|algorithm| rsa.fits(algorithm)));
        let rsa = read(json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "alg": "PS256" })).unwrap();
        assert!(rsa.fits(Ps256) && !rsa.fits(Rs256));
        let p256 = read(json!({ "kty": "EC", "crv": "P-256", "x": bytes(32), "y": bytes(32) })).unwrap();
        assert!(p256.fits(Es256) && !p256.fits(Es384) && !p256.fits(Rs256));
        assert!(!p256.verify(Es256, b"message", &[0; 64]), "the point is not on the curve");
        let ed = read(json!({ "kty": "OKP", "crv": "Ed25519", "x": bytes(32), "use": "sig" })).unwrap();
        assert!(ed.fits(EdDsa) && !ed.fits(Es256));
    }

    #[test]
    fn what_verifies_no_signatures_is_no_key() {
        for jwk in [
            json!({}),
            json!({ "kty": "oct", "k": bytes(32) }),
            json!({ "kty": "RSA", "n": bytes(255), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": bytes(1_025), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "" }),
            json!({ "kty": "RSA", "n": bytes(256), "e": bytes(6) }),
            json!({ "kty": "RSA", "n": bytes(256) }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "d": bytes(256) }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "use": "enc" }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "key_ops": ["sign"] }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "alg": "RSA-OAEP" }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "alg": "ES256" }),
            json!({ "kty": "RSA", "n": bytes(256), "e": "AQAB", "kid": 1 }),
            json!({ "kty": "EC", "crv": "P-256", "x": bytes(31), "y": bytes(32) }),
            json!({ "kty": "EC", "crv": "P-521", "x": bytes(66), "y": bytes(66) }),
            json!({ "kty": "EC", "crv": "secp256k1", "x": bytes(32), "y": bytes(32) }),
            json!({ "kty": "OKP", "crv": "Ed448", "x": bytes(57) }),
            json!({ "kty": "OKP", "crv": "X25519", "x": bytes(32) }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": bytes(31) }),
        ] {
            let shown = jwk.to_string();
            assert!(read(jwk).is_none(), "{shown}");
        }
    }
}
