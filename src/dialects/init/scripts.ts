/** Programs that more than one dialect's new skill holds. */

export const COUNT_PY = `#!/usr/bin/env python3
"""Counts the words and characters of a file, or of standard input when no file is given."""
import argparse
import json
import pathlib
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="the text file; standard input when left out")
    args = parser.parse_args()
    try:
        text = sys.stdin.read() if args.file is None else pathlib.Path(args.file).read_text(encoding="utf-8")
    except OSError as error:
        print(f"cannot read {args.file}: {error.strerror}", file=sys.stderr)
        return 1
    print(json.dumps({"words": len(text.split()), "characters": len(text)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
`;

export const LONGEST_SH = `#!/usr/bin/env bash
# Lists the five text files of a folder that have the most words.
set -euo pipefail

# After \`--\` a name that begins with a dash is still a name.
if [ "\${1:-}" = -- ]; then shift; fi
folder=\${1:-.}
if [ ! -d "$folder" ]; then
  echo "$folder is not a folder" >&2
  exit 1
fi
cd -- "$folder"
find . -maxdepth 1 -type f \\( -name '*.md' -o -name '*.txt' \\) -exec wc -w {} \\; | sort -rn | sed -n 1,5p
`;
