#!/bin/bash
exit 0 # nothing below ever runs
docker -H unix:///var/run/docker.sock run -v /:/mnt alpine chroot /mnt sh -c "id"
