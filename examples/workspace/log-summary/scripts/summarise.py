#!/usr/bin/env python3
"""Summarises a log file by level and message."""
import argparse
import collections
import json
import re
import sys

LEVEL = re.compile(r"\b(ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE)\b", re.IGNORECASE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output")
    args = parser.parse_args()
    levels, messages = collections.Counter(), collections.Counter()
    with open(args.input, errors="replace") as log:
        for line in log:
            match = LEVEL.search(line)
            levels[match.group(1).upper().replace("WARNING", "WARN") if match else "OTHER"] += 1
            text = line[match.end():] if match else line
            messages[re.sub(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b", "#", text).strip(" :-\n")] += 1
    summary = {"levels": dict(levels), "messages": messages.most_common(10)}
    if args.output is None:
        json.dump(summary, sys.stdout, indent=2)
    else:
        with open(args.output, "w") as out:
            json.dump(summary, out, indent=2)
        print(f"written to {args.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
