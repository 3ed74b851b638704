#!/bin/sh
# Compiles the plugin, its tests and the SDK's fake host for this machine, and runs them. CC=... and CXX=... name other
# compilers, of C and of C++.
set -eu
cd "$(dirname "$0")"
if command -v c++ >/dev/null; then
    c=cc cpp=c++
elif command -v zig >/dev/null; then
    c="zig cc" cpp="zig c++"
else
    c="python3 -m ziglang cc" cpp="python3 -m ziglang c++"
fi
# The SDK is in C; files of one name are in both of its folders.
for folder in src testing; do
    mkdir -p "build/$folder"
    (cd "build/$folder" && ${CC:-$c} -std=c11 -g -I../../sdk/include -I../../sdk/bindings -c ../../sdk/"$folder"/*.c)
done
${CXX:-$cpp} -std=c++20 -fno-exceptions -fno-rtti -g -Wall -Wextra -Wno-missing-field-initializers \
    -Isdk/include -Isdk/testing src/*.cpp tests/*.cpp build/src/*.o build/testing/*.o -o build/tests
build/tests
