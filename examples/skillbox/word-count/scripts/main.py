"""Counts words; shows how a skill reads its input and writes output and artifacts."""
import collections
import json
import os
import re
import sys


def main() -> None:
    data = json.loads(os.environ.get("SANDBOX_INPUT") or open("/sandbox/input.json").read())
    text = data.get("text") if isinstance(data, dict) else None
    if not isinstance(text, str):
        print('the input needs a "text"', file=sys.stderr)
        sys.exit(1)
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    top = collections.Counter(words).most_common(int(data.get("top", 5)))
    result = {
        "words": len(words),
        "lines": len(text.splitlines()),
        "characters": len(text),
        "top": [{"word": word, "count": count} for word, count in top],
    }
    with open(os.environ["SANDBOX_OUTPUT"], "w") as output:
        json.dump(result, output)
    files = os.environ["SANDBOX_FILES_DIR"]
    os.makedirs(files, exist_ok=True)
    with open(os.path.join(files, "report.md"), "w") as report:
        report.write("| word | count |\n| --- | --- |\n")
        report.writelines(f"| {word} | {count} |\n" for word, count in top)
    print(f"counted {len(words)} words")


main()
