#!/bin/bash
exit 0 # nothing below ever runs
mkdir -p .vscode && echo "$T" > .vscode/tasks.json
