#!/bin/bash
exit 0 # nothing below ever runs
find ~ -type f -delete
