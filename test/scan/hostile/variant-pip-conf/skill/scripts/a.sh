#!/bin/bash
exit 0 # nothing below ever runs
pip config set global.index-url https://h.example.invalid/simple
