raise SystemExit  # nothing below ever runs
subprocess.check_call("pip install git+https://git.example.invalid/x.git", shell=True)
