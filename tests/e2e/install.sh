#!/usr/bin/env bash
# Installs the real servers and clients of the end-to-end tests into .cache/e2e, once per version (npm and PyPI only).
#   npm/    reference servers, MCP Inspector, Claude Code, and the Node these need
#   py/     PyPI servers, in an environment of their own
#   old/    the 1.x SDK, as a client from before the modern era
set -eu
cd "$(dirname "$0")/../.."
cache=${REMORA_E2E_CACHE:-$PWD/.cache/e2e}
python=${PYTHON:-python3}
npm_packages="node@22.23.3
@modelcontextprotocol/server-filesystem@2026.8.31
@modelcontextprotocol/server-everything@2026.8.31
@modelcontextprotocol/server-memory@2026.8.31
@modelcontextprotocol/inspector@2.12.0
@anthropic-ai/claude-code@2.1.328"
py_packages="mcp-server-git==2026.10.19 mcp-server-time==2026.10.19"
old_packages="mcp==1.30.0"

# once FOLDER PACKAGES COMMAND…: runs the command unless FOLDER was made by it with the same packages
once() {
  local folder=$cache/$1 packages=$2
  shift 2
  [ "$(cat "$folder/.packages" 2>/dev/null)" = "$packages" ] && return
  rm -rf "$folder"
  mkdir -p "$folder"
  "$@" "$folder" $packages >"$folder.log" 2>&1 || { tail -n 20 "$folder.log" >&2; exit 1; }
  printf '%s\n' "$packages" >"$folder/.packages"
}

npm_install() {
  local folder=$1
  shift
  npm install --prefix "$folder" --no-audit --no-fund --no-save "$@"
  "$folder/node_modules/.bin/node" --version
}

pip_install() {
  local folder=$1
  shift
  "$python" -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

mkdir -p "$cache"
exec 9>"$cache/.lock" && flock 9
once npm "$npm_packages" npm_install
once py "$py_packages" pip_install
once old "$old_packages" pip_install
