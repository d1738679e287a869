import type { InitFile, InitWish } from '../init.ts';
import { renderDocument } from '../write.ts';
import { LONGEST_SH } from './scripts.ts';

export function gibberishFiles({ name, description }: InitWish): InitFile[] {
  const fields = { name, version: '0.1.0', description, modes: ['Global', 'Dev'], read_only: true, timeout: 10 };
  return [
    { path: 'SKILL.md', text: renderDocument(fields, TOOLS), executable: false },
    { path: 'scripts/longest.sh', text: LONGEST_SH, executable: true },
  ];
}

const TOOLS = `### count_words

Count the words of a file.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| file | string | yes | The text file to count. |

#### Command

\`\`\`bash
wc -w -- {{file}}
\`\`\`

### longest_files

List the text files of a folder that have the most words.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| folder | string | no | The folder to look in (default: .) |

#### Command

\`\`\`bash
./scripts/longest.sh -- {{folder}}
\`\`\`
`;
