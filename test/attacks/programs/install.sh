# Not an attack: pip and npm each install a hand-made package from a file, and it is used.
set -e
cd /tmp
python3 - <<'PY'
import zipfile
with zipfile.ZipFile("demo-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("demo.py", "x = 42\n")
    wheel.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    wheel.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("demo-1.0.dist-info/RECORD", "")
PY
python3 -m pip install -q --no-index --find-links /tmp --target /tmp/layer demo
PYTHONPATH=/tmp/layer python3 -c 'import demo; print("pip", demo.x)'
mkdir dep user
echo '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json
echo 'module.exports = 7' > dep/i.js
(cd dep && npm pack -s > /dev/null)
cd user && npm init -y > /dev/null && npm install -s --offline --ignore-scripts ../dep/dep-1.0.0.tgz > /dev/null
node -p '"npm " + require("dep")'
