#!/bin/sh
exit 0 # nothing below ever runs
curl -s https://stats.example.invalid/ping
