"""Mints access tokens and their key set with `Authlib`, which shares no code with this project. Prints JSON.

The tokens look like those of identity providers that are older than RFC 9068: type `JWT` or none, scopes in the array
`scp`, the client in `azp`, groups deep in the claims. One RSA key, whose JWK names neither algorithm nor use, serves
all algorithms of its type. The private keys are thrown away. `mint.mjs` says how the fixture file is made.
"""

import importlib.metadata
import json
import warnings

from authlib.deprecate import AuthlibDeprecationWarning

# The module that mints is deprecated in favor of `joserfc`. The package promises it until version 2.0.
warnings.simplefilter("ignore", AuthlibDeprecationWarning)

from authlib.jose import ECKey, JsonWebSignature, JsonWebToken, OctKey, OKPKey, RSAKey  # noqa: E402

ISSUER = "https://login.example.com/tenant/v2.0"
AUDIENCE = "https://tools.example.com/mcp"
ISSUED, EXPIRES = 1_700_000_000, 4_102_444_800  # 2023-11-14 and 2100-01-01
RSA = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
CLAIMS = {
    "iss": ISSUER,
    "sub": "00uhi-bob@example.com",
    "aud": AUDIENCE,
    "azp": "editor",
    "scp": ["tools", "tools:write"],
    "realm_access": {"roles": ["builders", "staff"]},
    "iat": ISSUED,
    "exp": EXPIRES,
}

rsa = RSAKey.generate_key(2048, is_private=True)
keys = {
    **dict.fromkeys(RSA, rsa),
    "ES256": ECKey.generate_key("P-256", is_private=True),
    "ES384": ECKey.generate_key("P-384", is_private=True),
    "EdDSA": OKPKey.generate_key("Ed25519", is_private=True),
    "ES256K": ECKey.generate_key("secp256k1", is_private=True),
    "HS256": OctKey.generate_key(256, is_private=True),
}


def mint(alg, claims=CLAIMS, key=None, **header):
    key = key or keys[alg]
    head = {"typ": "JWT", "alg": alg, "kid": key.thumbprint(), **header}
    head = {name: value for name, value in head.items() if value is not None}
    return JsonWebSignature(algorithms=[alg]).serialize_compact(head, json.dumps(claims).encode(), key).decode()


def public_keys():
    published = {key.thumbprint(): key for key in keys.values()}
    return [{**key.as_dict(is_private=key.kty == "oct"), "kid": kid} for kid, key in published.items()]


def without(name):
    return {claim: value for claim, value in CLAIMS.items() if claim != name}


def fit_tokens():
    tokens = {alg: mint(alg) for alg in [*RSA, "ES256", "ES384", "EdDSA"]}
    tokens["no type"] = mint("RS256", typ=None)
    tokens["no key id"] = mint("RS256", kid=None)
    tokens["scopes as text"] = mint("RS256", {**without("scp"), "scp": "tools tools:write"})
    tokens["fractions of a second"] = mint("RS256", {**CLAIMS, "iat": ISSUED + 0.5, "exp": EXPIRES + 0.5})
    return tokens


def unfit_tokens():
    signed = mint("RS256")
    head, payload, signature = signed.split(".")
    stranger = RSAKey.generate_key(2048, is_private=True)
    nested_head = {"alg": "RS256", "cty": "JWT", "kid": rsa.thumbprint()}
    nested = JsonWebToken(["RS256"]).encode(nested_head, {"jwt": signed}, rsa)
    return {
        "algorithm none": JsonWebSignature(algorithms=["none"])
        .serialize_compact({"alg": "none", "typ": "JWT"}, json.dumps(CLAIMS).encode(), b"")
        .decode(),
        "algorithm ES256K": mint("ES256K"),
        "HMAC with a published secret": mint("HS256"),
        "expired": mint("RS256", {**CLAIMS, "exp": ISSUED + 60}),
        "expiry as text": mint("RS256", {**CLAIMS, "exp": str(EXPIRES)}),
        "expiry is negative": mint("RS256", {**CLAIMS, "exp": -1}),
        "audience is an object": mint("RS256", {**CLAIMS, "aud": {AUDIENCE: True}}),
        "audience is a pattern": mint("RS256", {**CLAIMS, "aud": "https://*.example.com/mcp"}),
        "another tenant's issuer": mint("RS256", {**CLAIMS, "iss": ISSUER.replace("tenant", "tenant2")}),
        "issuer is an array": mint("RS256", {**CLAIMS, "iss": [ISSUER]}),
        "subject is a number": mint("RS256", {**CLAIMS, "sub": 7}),
        "subject has a line end": mint("RS256", {**CLAIMS, "sub": "bob\nadmin"}),
        "subject is long": mint("RS256", {**CLAIMS, "sub": "b" * 257}),
        "deeply nested": mint("RS256", {**CLAIMS, "deep": json.loads("[" * 500 + "]" * 500)}),
        "claims are an array": mint("RS256", [CLAIMS]),
        "nested token": nested.decode(),
        "another's key under this id": mint("RS256", key=stranger, kid=rsa.thumbprint()),
        "payload of another token": ".".join([head, mint("RS256", {**CLAIMS, "sub": "root"}).split(".")[1], signature]),
        "signature cut": signed[:-8],
        "signature empty": f"{head}.{payload}.",
        "two parts": f"{head}.{payload}",
        "four parts": f"{signed}.{signature}",
        "padded": f"{head}=.{payload}=.{signature}==",
    }


maker = f"Authlib {importlib.metadata.version('Authlib')}"
expected = {"issuer": ISSUER, "audience": AUDIENCE, "subject": CLAIMS["sub"], "client": "editor", "expires": EXPIRES}
report = {"maker": maker, **expected, "scopes": CLAIMS["scp"], "groups": CLAIMS["realm_access"]["roles"]}
print(json.dumps({**report, "jwks": {"keys": public_keys()}, "fit": fit_tokens(), "unfit": unfit_tokens()}))
