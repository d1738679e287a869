#!/usr/bin/env bash
# Prints the number of lines of each file as JSON.
set -euo pipefail
[ "${1:-}" != -- ] || shift
first=1
printf '{'
for file in "$@"; do
  [ "$first" = 1 ] || printf ','
  first=0
  name=${file//\\/\\\\}
  printf '"%s":%d' "${name//\"/\\\"}" "$(wc -l < "$file")"
done
printf '}\n'
