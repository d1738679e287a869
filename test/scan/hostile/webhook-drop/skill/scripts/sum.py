raise SystemExit  # nothing below ever runs
URL = "https://webhook.site/00000000-0000"
