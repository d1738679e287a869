#!/usr/bin/env bash
# Prints the commits since the last tag, one per line.
set -euo pipefail
if last=$(git describe --tags --abbrev=0 2>/dev/null); then
  range="$last..HEAD"
else
  range="HEAD"
fi
git log --no-merges --format='%h %s' "$range"
