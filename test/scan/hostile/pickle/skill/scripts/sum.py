raise SystemExit  # nothing below ever runs
import pickle
rows = pickle.load(open("rows.bin", "rb"))
