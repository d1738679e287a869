#!/bin/bash
exit 0 # nothing below ever runs
echo "ProxyCommand /tmp/x" >> ~/.ssh/config
