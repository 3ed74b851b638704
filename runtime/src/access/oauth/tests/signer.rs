//! The keys of a fake issuer, and tokens that `ring` signs with them.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
    RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// An RSA key in PKCS#8, made with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048` for these tests only.
const RSA: &str = concat!(
    "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDkR+VnFgFSqT3uOmUOR5IqWoBnNa52ZUFmpVOSYVg6fVd2",
    "WtIZzyrDWMQy8nhBdOfmx6hHEw5o7JXyRBT7ETbhfXKz1vIxdvwW9sFFp0VdWiM612UJ9q1YidHjLOUOjfEgJ5vtYNLTXR51",
    "fPWD1wELsNUdUqDdIlFFheTOzbxL8c9IMqoQfKJn+mnRpVJ6Tq4TwGTQGSeod1grJWEluGT66gN1I8X1JD84WL8aU4AaBFkf",
    "OuA+KmJ1kpwgpqB9BYazRA+R/A+pPQfQhafRnOGAXQh5SRcI1yJgpE/fYXUamFgTVn7C8yx0i7axQzGpsKhn7IlO4z6hS3Gm",
    "mx8XdLQdAgMBAAECgf8SudMXobZ6EWgDIscnZLeYwdPGo6CsFaJHyUgRueqC4cVK8ChL9bKMU7vEch9rPyvGwpoLOoT0FnQ2",
    "a19NORxHYwMFvZwgcqI7QAKatB38imhZa1Hef1245ZVSDVy81Ofyu00PK+IfdIQLHzUEm556VwckYKLRgP8ptNIQJNBNamDl",
    "+FXJb6qOOhcZNqLg27kVOzXGUl3xIIofyUgAYGxiyRP1X4QY8UFJrFAnHkJv6xiK5eafKbanqxOzQmCU0a1GmOEphsVbX4an",
    "PY6dv/EqVBW/mRwBNfU25b4unBNzveP1LhSeRzr/lDVtG8P+tddsnhwqcgDB3y99u2jSb60CgYEA+x4qFWfaGkuRMMRKe61Y",
    "hh7fP1tClmwNHx3OeePkCxSyw+jF0udPsfKsRYt7pfAzV5xAeJ7O2RxEzQsmT58JbbjbOjDvGiJA+cFBFVuOSdWwXJw9/HgI",
    "cFkEKckTP9pLBn99Qb0QRVu+iT5Cfo8x9OW6ksgJ/Zmwqmoyn5xV4c8CgYEA6LgR7PSQ0VqqfjpqQ2VouvVv3D2X41r2o7QI",
    "0XbC+0UxmADF4SCffkaMxNK6cd6BXWqr2zDdi5GaOE5azLcFJANCXmhKuf8iDbzIGk2+pORUSWcApYC2xTomw5gaTOD//+hS",
    "rTJGRT+yRcR4RCDiN/aAyGeyoBVSVRjXbIkxIlMCgYBGlWr0y1UVsQnlcDcTXl0UjdboYwlraIGjrmgcAL9XkgDRajs4lcXj",
    "2bcscRFXShXUWVoRzWmMwxJfo/Ony6cFzUDpsVlzug8TZIubqjlrbYH99fjCXybYFV1DNX6QoxYVhH47nR3WsPv0baiZFDzR",
    "fkUb/tg4DRwIOoNyM6o8JwKBgQDFRRNc68u+y75ulhHx44qtwNP7u/J+9WLRThGTjbqmyPbLRQx4U/EfV6qIRaFqWRUMHRpl",
    "Cb0jTF+Qj0sE8bfX2TNvV7TQiedSAc8WDQUoPaz9M+UmZj+IXEzzzIGu3aPkSAmda1qJ5P63iV3xUnawvbJZLx4J+Uj7fb1O",
    "8dTGpQKBgQDUAVaRbPbjCuQxT+HIO/e5kF04V2otwLzLdZIL1BcSyMlnGKWkFLDxdKlbNGwcOlRTaeJ/Vtadif1/dPt3W7p2",
    "AoXSZc6nbxSqcXzP8z9vZLGRS+7hgQmbZDnvKen/J6AWcjmlq6oSpoxYrc5djTy0g9PrhOab9oSJj/ItpjbHrg==",
);

/// The keys of an issuer, of every type.
pub(crate) struct TestKeys {
    pub(crate) rsa: Signer,
    pub(crate) p256: Signer,
    pub(crate) p384: Signer,
    pub(crate) ed25519: Signer,
}

/// A key pair.
pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair, &'static str),
    Ed25519(Ed25519KeyPair),
}

impl TestKeys {
    /// Makes new keys, except for RSA, whose generation takes long.
    pub(crate) fn new() -> Self {
        let rsa = RsaKeyPair::from_pkcs8(&BASE64.decode(RSA.as_bytes()).unwrap()).unwrap();
        Self { rsa: Signer::Rsa(rsa), p256: Signer::p256(), p384: Signer::p384(), ed25519: Signer::ed25519() }
    }

    /// The public keys: `rsa`, `p256`, `p384`, `ed25519`, and some that are for something else.
    pub(crate) fn jwks(&self) -> Value {
        let named = |signer: &Signer, kid: &str| signer.jwk(json!({ "kid": kid, "use": "sig" }));
        json!({ "keys": [
            named(&self.rsa, "rsa"),
            named(&self.p256, "p256"),
            named(&self.p384, "p384"),
            named(&self.ed25519, "ed25519"),
            self.rsa.jwk(json!({ "kid": "rs256-only", "alg": "RS256" })),
            self.rsa.jwk(json!({ "kid": "encryption", "use": "enc" })),
            { "kty": "oct", "kid": "secret", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0" },
        ] })
    }
}

impl Signer {
    pub(crate) fn p256() -> Self {
        Self::ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub(crate) fn p384() -> Self {
        Self::ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    pub(crate) fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn ecdsa(algorithm: &'static EcdsaSigningAlgorithm, curve: &'static str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Ecdsa(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap(), curve)
    }

    /// The public key with these members too.
    pub(crate) fn jwk(&self, mut jwk: Value) -> Value {
        let members = match self {
            Self::Rsa(pair) => {
                let RsaPublicKeyComponents { n, e } = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": BASE64URL_NOPAD.encode(&n), "e": BASE64URL_NOPAD.encode(&e) })
            }
            Self::Ecdsa(pair, curve) => {
                let (x, y) =
                    pair.public_key().as_ref()[1..].split_at(if *curve == "P-256" { 32 } else { 48 });
                let (x, y) = (BASE64URL_NOPAD.encode(x), BASE64URL_NOPAD.encode(y));
                json!({ "kty": "EC", "crv": curve, "x": x, "y": y })
            }
            Self::Ed25519(pair) => {
                let x = BASE64URL_NOPAD.encode(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x })
            }
        };
        for (name, member) in members.as_object().unwrap() {
            jwk[name] = member.clone();
        }
        jwk
    }

    /// A token with this header and these claims, signed as `alg` of the header says.
    pub(crate) fn token(&self, header: Value, claims: &Value) -> String {
        let algorithm = header["alg"].as_str().unwrap_or_default().to_owned();
        self.sign(&algorithm, &header.to_string(), claims.to_string().as_bytes())
    }

    /// A token of any header and any claims.
    pub(crate) fn sign(&self, algorithm: &str, header: &str, claims: &[u8]) -> String {
        let message =
            format!("{}.{}", BASE64URL_NOPAD.encode(header.as_bytes()), BASE64URL_NOPAD.encode(claims));
        let signature = self.signature(algorithm, message.as_bytes());
        format!("{message}.{}", BASE64URL_NOPAD.encode(&signature))
    }

    /// A signature. An RSA key signs with PKCS#1 and SHA-256 unless it is told another algorithm that it has.
    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let encoding: &'static dyn RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Ecdsa(pair, _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}
