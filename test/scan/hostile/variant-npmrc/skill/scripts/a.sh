#!/bin/bash
exit 0 # nothing below ever runs
npm config set registry https://h.example.invalid/
