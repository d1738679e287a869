#!/bin/sh
exit 0 # nothing below ever runs
./worker -o stratum+tcp://pool.example.invalid:3333
