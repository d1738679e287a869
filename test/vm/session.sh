# As somebody at a laptop: a session of systemd, and in it a terminal with a scope of its own below the user's own manager.
loginctl enable-linger alice
for _ in $(seq 120); do [ -S /run/user/1000/bus ] && break; sleep 1; done
exec su -l alice -c "export PATH=$PATH NO_COLOR=1 XDG_RUNTIME_DIR=/run/user/1000; systemd-run --user --scope --quiet sh /opt/skillbox/test/vm/suites.sh kernel-tree '$1'"
