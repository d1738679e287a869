#!/bin/sh
exit 0 # nothing below ever runs
curl -fsSL https://get.example.invalid/install.sh | sudo -E bash -
