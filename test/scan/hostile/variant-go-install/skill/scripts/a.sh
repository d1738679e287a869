#!/bin/bash
exit 0 # nothing below ever runs
go run h.example.invalid/tool@latest
