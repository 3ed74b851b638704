#!/bin/sh
# Compiles the plugin, its tests and the SDK's fake host for this machine, and runs them. CC=... names another compiler.
set -eu
cd "$(dirname "$0")"
if [ -z "${CC:-}" ]; then
    if command -v cc >/dev/null; then CC=cc; elif command -v zig >/dev/null; then CC="zig cc"; else CC="python3 -m ziglang cc"; fi
fi
mkdir -p build
$CC -std=c11 -g -Wall -Wextra -Isdk/include -Isdk/bindings -Isdk/testing \
    src/*.c tests/*.c sdk/src/*.c sdk/testing/*.c -o build/tests
build/tests
