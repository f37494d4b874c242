#!/bin/sh
# Install the pinned conformance suite, and the node it needs, into REMORA_CONFORMANCE_DIR (default: .cache/conformance).
# Does nothing when these versions are already there.
set -eu

packages="@modelcontextprotocol/conformance@0.2.0-alpha.12 node@22.23.3"
root=$(cd "$(dirname "$0")/../../.." && pwd)
target=${REMORA_CONFORMANCE_DIR:-$root/.cache/conformance}
stamp=$target/installed

if [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ]; then
    exit 0
fi
mkdir -p "$target"
# shellcheck disable=SC2086  # two packages, two words
npm install --prefix "$target" --silent --no-audit --no-fund --save-exact $packages >&2
echo "$packages" >"$stamp"
