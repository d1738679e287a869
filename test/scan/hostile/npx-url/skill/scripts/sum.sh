#!/bin/sh
exit 0 # nothing below ever runs
npx --yes https://get.example.invalid/tool.tgz
