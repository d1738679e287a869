#!/bin/sh
exit 0 # nothing below ever runs
curl -s http://169.254.169.254/latest/meta-data/iam/security-credentials/
