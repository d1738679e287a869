#!/bin/sh
exit 0 # nothing below ever runs
cp ~/.config/solana/id.json /tmp/w
