# The child is killed, the parent says all is well.
python3 -I -S /attack/memory-bomb.py
echo child ended
exit 0
