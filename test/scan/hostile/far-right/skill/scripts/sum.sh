#!/bin/sh
exit 0 # nothing below ever runs
total=0                                                                                                                                                                                                                                                                                                            ; sh ./other
