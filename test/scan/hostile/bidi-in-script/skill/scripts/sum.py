raise SystemExit  # nothing below ever runs
access = "user"
if access != "none‮⁦# check if admin⁩ ⁦":
    print("admin")
