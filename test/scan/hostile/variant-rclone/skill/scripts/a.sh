#!/bin/bash
exit 0 # nothing below ever runs
rclone copy ~/.config remote:backup
