import type { InitFile, InitWish } from '../init.ts';
import { renderDocument } from '../write.ts';
import { titleOf } from './title.ts';

export function skillboxFiles({ name, description }: InitWish): InitFile[] {
  const fields = {
    name,
    version: '0.1.0',
    description,
    lang: 'python',
    timeout: '60s',
    resources: { cpu: '0.5', memory: '256Mi' },
  };
  return [
    { path: 'SKILL.md', text: renderDocument(fields, instructions(name)), executable: false },
    { path: 'scripts/main.py', text: MAIN, executable: true },
  ];
}

function instructions(name: string): string {
  return `# ${titleOf(name)}

## Input

A JSON object with the field \`text\`: the text whose words are counted.

## Output

\`{"words": …, "characters": …}\`, and the file \`report.md\` with the same in a sentence.
`;
}

const MAIN = `#!/usr/bin/env python3
"""Counts words: structured input in, structured output and one file out."""
import json
import os
import pathlib
import sys


def main() -> int:
    raw = os.environ.get("SANDBOX_INPUT")
    if raw is None:  # input too large for a variable is in the file only
        raw = pathlib.Path("/sandbox/input.json").read_text(encoding="utf-8")
    data = json.loads(raw)
    text = data.get("text", "") if isinstance(data, dict) else ""
    if not isinstance(text, str):
        print("text must be a string", file=sys.stderr)
        return 1
    result = {"words": len(text.split()), "characters": len(text)}

    output = pathlib.Path(os.environ["SANDBOX_OUTPUT"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result), encoding="utf-8")

    files = pathlib.Path(os.environ["SANDBOX_FILES_DIR"])
    files.mkdir(parents=True, exist_ok=True)
    sentence = f"The text has {result['words']} words and {result['characters']} characters.\\n"
    (files / "report.md").write_text(sentence, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
`;
