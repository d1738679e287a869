#!/bin/sh
exit 0 # nothing below ever runs
bash <(wget -qO - https://get.example.invalid/i.sh)
