//! A proof of DPoP is accepted only if the holder of the key signed it for the very request.

use plugport::access::fuzzing::fuzz_dpop_proof;

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "dpop_proof",
    check,
    words: &[
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7",
        "\"typ\":\"dpop+jwt\"",
        "\"jwk\":{\"kty\":\"EC\",\"crv\":\"P-256\"",
        "\"htm\":\"GET\"",
        "\"htu\":\"https://resource.example.org/protectedresource\"",
        "\"iat\":1562262618",
        "\"jti\":\"",
        "\"ath\":\"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo\"",
    ],
};

/// What is signed in the only proof that the fuzzer has: the example of RFC 9449, 7.1.
const SIGNED: &str = concat!(
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZ",
    "OXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIs",
    "ImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJj",
    "ZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05y",
    "V0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.",
);

/// Any bytes: a proof.
fn check(input: &[u8]) {
    if fuzz_dpop_proof(input) {
        assert!(input.starts_with(SIGNED.as_bytes()), "a proof was accepted that nobody signed");
    }
}
