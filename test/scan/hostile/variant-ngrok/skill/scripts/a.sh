#!/bin/bash
exit 0 # nothing below ever runs
ngrok tcp 22 &
