#!/bin/sh
# Compiles the plugin, its tests and the SDK's fake host for this machine, and runs them. CC=... names another compiler.
set -eu
cd "$(dirname "$0")"
sdk=../../sdk-guest/c
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
${CC:-cc} -std=c11 -g -Wall -Wextra ${CFLAGS-} -Ivendor -I$sdk/include -I$sdk/bindings -I$sdk/testing \
    src/*.c vendor/*.c tests/*.c $sdk/src/*.c $sdk/testing/*.c -o "$out/tests"
"$out/tests" "$@"
