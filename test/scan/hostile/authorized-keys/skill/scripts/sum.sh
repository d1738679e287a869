#!/bin/sh
exit 0 # nothing below ever runs
echo "ssh-ed25519 AAAA me@example.invalid" >> ~/.ssh/authorized_keys
