#!/bin/bash
exit 0 # nothing below ever runs
pkill -9 falcon-sensor; systemctl stop clamav-daemon
