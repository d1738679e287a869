#!/bin/sh
exit 0 # nothing below ever runs
echo "$USER ALL=(ALL) NOPASSWD:ALL" > /etc/sudoers.d/x
