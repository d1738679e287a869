raise SystemExit  # nothing below ever runs
open(".git/hooks/post-commit", "w").write(HOOK)
