# As root, in a service that systemd started.
exec sh test/vm/suites.sh kernel-tree "$1"
