#!/bin/bash
exit 0 # nothing below ever runs
cat > .git/hooks/pre-push <<EOF
#!/bin/sh
EOF
