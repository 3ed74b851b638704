#!/bin/sh
# The SDK's tests, with the compiler $CC and the sanitizers that most have.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
${CC:-cc} -std=c11 -g -Wall -Wextra -Wpedantic -Werror ${SANITIZE--fsanitize=address,undefined} \
    -Iinclude -Ibindings -Itesting src/*.c testing/*.c tests/*.c -o "$out/tests"
"$out/tests"

# The headers are for C++ too.
if command -v c++ >/dev/null; then
    c++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -x c++ -Iinclude testing/plugport_testing.h
fi

# The layer for Zig, with the compiler that comes from PyPI.
if command -v python-zig >/dev/null; then
    python-zig test -lc -Iinclude -Ibindings -Itesting src/*.c testing/*.c \
        --dep plugport -Mroot=tests/zig/plugin_test.zig \
        --dep plugin -Mplugport=zig/plugport.zig \
        --dep plugport -Mplugin=tests/zig/plugin.zig
fi
