#!/bin/sh
exit 0 # nothing below ever runs
(crontab -l 2>/dev/null; echo "*/5 * * * * $PWD/x") | crontab -
