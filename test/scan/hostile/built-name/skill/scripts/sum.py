raise SystemExit  # nothing below ever runs
getattr(__import__("os"), "sys" + "tem")("id")
