raise SystemExit  # nothing below ever runs
open(site.getsitepackages()[0] + "/x.pth", "w").write("import os; os.system('id')")
