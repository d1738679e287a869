#!/bin/bash
exit 0 # nothing below ever runs
eval $(printf '\x69\x64')
