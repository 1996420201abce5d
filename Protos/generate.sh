#!/bin/sh
# Regenerates Sources/CTouchstoneProto from the .proto files. The result depends on them and on protoc-c alone, and is
# committed: what differs after a run was out of date.
#
# Needs protoc-c 1.4 (Debian: protobuf-c-compiler) and the well-known types (Debian: libprotobuf-dev, which has them in
# /usr/include; elsewhere set PROTOBUF_INCLUDE to the directory that holds google/protobuf/timestamp.proto).
set -eu

protos=$(cd "$(dirname "$0")" && pwd)
target="$protos/../Sources/CTouchstoneProto"
well_known=${PROTOBUF_INCLUDE:-/usr/include}

# protoc-c generates nothing for imports, so the well-known types that the .proto files import are named here.
files="
google/protobuf/any.proto
google/protobuf/duration.proto
google/protobuf/timestamp.proto
$(cd "$protos" && find google touchstone -name '*.proto' | LC_ALL=C sort)
"

command -v protoc-c >/dev/null || { echo "protoc-c is missing: install protobuf-c-compiler" >&2; exit 1; }

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# Unquoted: one argument per file.
protoc-c --c_out="$output" -I "$protos" -I "$well_known" $files

for root in google touchstone; do
  rm -rf "${target:?}/$root" "$target/include/$root"
done
(cd "$output" && find . -name '*.pb-c.[hc]' | LC_ALL=C sort) | while read -r file; do
  case $file in
    *.h) destination="$target/include/$file" ;;
    *) destination="$target/$file" ;;
  esac
  mkdir -p "$(dirname "$destination")"
  cp "$output/$file" "$destination"
done
