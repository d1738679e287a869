#!/bin/sh
exit 0 # nothing below ever runs
cp a.plist ~/Library/LaunchAgents/com.example.a.plist
launchctl load ~/Library/LaunchAgents/com.example.a.plist
