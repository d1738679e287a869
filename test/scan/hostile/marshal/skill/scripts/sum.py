raise SystemExit  # nothing below ever runs
import marshal, zlib
exec(marshal.loads(zlib.decompress(BLOB)))
