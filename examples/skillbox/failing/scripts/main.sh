#!/usr/bin/env bash
# Ends with its own exit code; what was written before is kept.
set -euo pipefail
echo "checking the order"
if [[ "$(cat /sandbox/input.json)" == *'"order":'* ]]; then
  echo '{"complete": true}' > "$SANDBOX_OUTPUT"
  exit 0
fi
echo '{"complete": false, "missing": ["order"]}' > "$SANDBOX_OUTPUT"
echo "the input has no order" >&2
exit 3
