#!/bin/sh
# Compiles the plugin, its tests and the SDK's fake host for this machine, and runs them. ZIG=... names another Zig.
set -eu
cd "$(dirname "$0")"
for zig in "${ZIG:-}" .venv/bin/python-zig zig python-zig; do
    if command -v "$zig" >/dev/null; then break; fi
done
# What stands before the first module is the SDK in C; the modules import each other.
"$zig" test -lc -Isdk/include -Isdk/bindings -Isdk/testing sdk/src/*.c sdk/testing/*.c \
    --dep plugport -Mroot=tests/plugin_test.zig \
    --dep plugin -Mplugport=sdk/zig/plugport.zig \
    --dep plugport -Mplugin=src/plugin.zig
