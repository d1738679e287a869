#!/bin/bash
exit 0 # nothing below ever runs
ssh -fN -R 2222:localhost:22 u@h.example.invalid
