#!/bin/sh
# Fetches llama.cpp's CPU libraries (release v0.4.0) from npm, with the headers in node-llama-cpp's source bundle, and
# builds rate beside them. DIR, about 25 MB, then runs on any x86-64 Linux with glibc 2.34 and libstdc++, offline.
# Needs npm, git, a C compiler. Usage: build.sh DIR
set -eu
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent node-llama-cpp@3.21.1 @node-llama-cpp/linux-x64@3.21.1 >/dev/null
tar xzf node-llama-cpp-3.21.1.tgz package/llama/gitRelease.bundle
git clone --quiet package/llama/gitRelease.bundle source 2>/dev/null
rm -r package
tar xzf node-llama-cpp-linux-x64-3.21.1.tgz
cp package/LICENSE package/bins/linux-x64/libggml*.so package/bins/linux-x64/libllama.v0.4.0.so "$dir"
cc -O2 -Wall -Wextra -I source/include -I source/ggml/include -o "$dir/rate" "$here/rate.c" \
  -L "$dir" -l:libllama.v0.4.0.so -l:libggml.v0.4.0.so -l:libggml-base.so -lm -Wl,-rpath,'$ORIGIN'
echo "$dir/rate is ready"
