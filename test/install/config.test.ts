import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { editJsonc } from '../../src/install/config/jsonc.ts';
import { readJsonc } from '../../src/install/config/jsonc-read.ts';
import { editToml } from '../../src/install/config/toml.ts';
import { editYaml } from '../../src/install/config/yaml.ts';
import { editConfig } from '../../src/install/index.ts';

/** Each agent's file, with comments and foreign entries: before, after, and after the entry is taken out again. */
const FILES = [
  {
    agent: 'Claude Code, Cursor',
    form: 'mcp-servers' as const,
    before: `{
  "mcpServers": {
    "github": { "command": "gh-mcp", "env": { "TOKEN": "x" } }
  },
  "numStartups": 12
}
`,
    after: `{
  "mcpServers": {
    "skillbox": {
      "command": "skillbox",
      "args": [
        "mcp"
      ]
    },
    "github": { "command": "gh-mcp", "env": { "TOKEN": "x" } }
  },
  "numStartups": 12
}
`,
  },
  {
    agent: 'Gemini CLI, without servers yet',
    form: 'mcp-servers' as const,
    before: `// my settings
{
    /* dark at night */ "theme": "dark", // or light
    "list": [1, 2,],
}
`,
    after: `// my settings
{
    "mcpServers": {
        "skillbox": {
            "command": "skillbox",
            "args": [
                "mcp"
            ]
        }
    },
    /* dark at night */ "theme": "dark", // or light
    "list": [1, 2,],
}
`,
  },
  {
    agent: 'VS Code',
    form: 'vscode' as const,
    before: `{
\t// servers of the team
\t"servers": {
\t\t// search
\t\t"docs": { "type": "http", "url": "https://docs.example.org/mcp" }, // keep
\t},
\t"inputs": []
}`,
    after: `{
\t// servers of the team
\t"servers": {
\t\t"skillbox": {
\t\t\t"type": "stdio",
\t\t\t"command": "skillbox",
\t\t\t"args": [
\t\t\t\t"mcp"
\t\t\t]
\t\t},
\t\t// search
\t\t"docs": { "type": "http", "url": "https://docs.example.org/mcp" }, // keep
\t},
\t"inputs": []
}`,
  },
  {
    agent: 'OpenCode',
    form: 'opencode' as const,
    before: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    // off for now
    "weather": { "type": "local", "command": ["weather"], "enabled": false }
  }
}
`,
    after: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "skillbox": {
      "type": "local",
      "command": [
        "skillbox",
        "mcp"
      ],
      "enabled": true
    },
    // off for now
    "weather": { "type": "local", "command": ["weather"], "enabled": false }
  }
}
`,
  },
  {
    agent: 'Codex',
    form: 'codex' as const,
    before: `# my Codex
model = "gpt-5" # the large one
notify = [
  "sh", "-c", # ]
  """say "done" [mcp_servers.skillbox]""",
]

[mcp_servers.github] # foreign
command = "gh-mcp"
env = { TOKEN = "x" }
`,
    after: `# my Codex
model = "gpt-5" # the large one
notify = [
  "sh", "-c", # ]
  """say "done" [mcp_servers.skillbox]""",
]

[mcp_servers.github] # foreign
command = "gh-mcp"
env = { TOKEN = "x" }

[mcp_servers.skillbox]
command = "skillbox"
args = ["mcp"]
`,
  },
  {
    agent: 'Goose',
    form: 'goose' as const,
    before: `# my goose
GOOSE_MODEL: large   # careful

extensions:
    # comes with it
    developer:
        enabled: true
        type: builtin   # not stdio
    memory: {enabled: false, type: builtin}
GOOSE_MODE: approve
`,
    after: `# my goose
GOOSE_MODEL: large   # careful

extensions:
    skillbox:
      enabled: true
      type: stdio
      name: skillbox
      description: Skills, found and run in a sandbox
      cmd: skillbox
      args:
        - mcp
      envs: {}
      timeout: 300
    # comes with it
    developer:
        enabled: true
        type: builtin   # not stdio
    memory: {enabled: false, type: builtin}
GOOSE_MODE: approve
`,
  },
];

describe('the configuration of agents', () => {
  test.each(FILES)('$agent: the entry comes, the rest stays', ({ form, before, after }) => {
    expect(editConfig(form, before, ['mcp'])).toBe(after);
    expect(editConfig(form, after, ['mcp'])).toBe(after);
    expect(editConfig(form, after, null)).toBe(before);
    expect(editConfig(form, before, null)).toBe(before);
    const windows = editConfig(form, before.replaceAll('\n', '\r\n'), ['mcp']);
    expect(windows).toBe(after.replaceAll('\n', '\r\n'));
  });

  test.each(['mcp-servers', 'vscode', 'opencode', 'codex', 'goose'] as const)('%s: an empty file, and none', form => {
    const made = editConfig(form, '', ['mcp']);
    expect(made.endsWith('\n')).toBe(true);
    expect(made).toContain('skillbox');
    expect(editConfig(form, made, ['mcp'])).toBe(made);
  });

  test.each([
    ['mcp-servers', '{\n  "a": 1\n}\n', '{\n  "mcpServers": {},\n  "a": 1\n}\n'],
    ['opencode', '{\n  "a": 1\n}\n', '{\n  "mcp": {\n    "servers": {}\n  },\n  "a": 1\n}\n'],
    ['goose', 'a: 1\n', 'extensions: {}\na: 1\n'],
    ['goose', 'a: 1\n', 'extensions: # mine\na: 1\n'],
  ] as const)(
    '%s: a group that came with the entry goes with it, and one that was there stays',
    (form, none, empty) => {
      expect(editConfig(form, editConfig(form, none, ['mcp']), null)).toBe(none);
      expect(editConfig(form, editConfig(form, none, ['mcp']), null, none)).toBe(none);
      const group = { 'mcp-servers': 'mcpServers', opencode: 'mcp', goose: 'extensions' }[form];
      const kept = editConfig(form, editConfig(form, empty, ['mcp']), null, empty);
      expect(kept).toContain(group);
      expect(kept).not.toContain('skillbox');
      if (empty.includes('# mine')) expect(kept).toContain('# mine');
      // A file that nobody can read any more says nothing, so nothing is taken for ours.
      expect(editConfig(form, editConfig(form, none, ['mcp']), null, '{"x": [')).toContain(group);
    },
  );

  test('a group with a comment in it stays', () => {
    const text = '{\n  "mcpServers": {\n    // mine\n    "skillbox": {}\n  }\n}\n';
    expect(editConfig('mcp-servers', text, null)).toContain('// mine');
    expect(editConfig('goose', 'extensions:\n  # mine\n  skillbox: {cmd: x}\n', null)).toContain('# mine');
  });

  test('what the user added to the entry stays', () => {
    const own = '{"mcpServers": {"skillbox": {"command": "skillbox", "args": ["mcp"], "env": {"A": "b"}}}}';
    expect(editConfig('mcp-servers', own, ['mcp'])).toBe(own);
    const toml = '[mcp_servers.skillbox]\nargs = [ "mcp" ]\ncommand = "skillbox"\ntool_timeout_sec = 9\n';
    expect(editConfig('codex', toml, ['mcp'])).toBe(toml);
    const yaml = 'extensions:\n  skillbox:\n    enabled: true\n    type: stdio\n';
    expect(parseYaml(editConfig('goose', yaml, ['mcp'])).extensions.skillbox.cmd).toBe('skillbox');
  });

  test('OpenCode: beside the servers that are there, in either form', () => {
    const later = '{\n  "mcp": {\n    "servers": {\n      "a": { "type": "local" } // mine\n    }\n  }\n}\n';
    const after = editConfig('opencode', later, ['mcp']);
    // Version 2 knows no `enabled`.
    expect(readJsonc(after).value).toEqual({
      mcp: { servers: { a: { type: 'local' }, skillbox: { type: 'local', command: ['skillbox', 'mcp'] } } },
    });
    expect(editConfig('opencode', after, null)).toBe(later);
    const named = '{"mcp": {"servers": {"type": "local", "command": ["x"]}}}';
    expect(readJsonc(editConfig('opencode', named, ['mcp'])).value).toMatchObject({ mcp: { skillbox: {} } });
  });

  test('another entry of that name is replaced as a whole', () => {
    const toml =
      'a = 1\n[mcp_servers.skillbox]\ncommand = "old"\n[mcp_servers.skillbox.env]\nX = "y"\n[other]\nb = 2\n';
    expect(editConfig('codex', toml, ['mcp'])).toBe(
      'a = 1\n[other]\nb = 2\n\n[mcp_servers.skillbox]\ncommand = "skillbox"\nargs = ["mcp"]\n',
    );
    const yaml = 'extensions:\n  skillbox: {cmd: old}\n  # keep\n  b: 1\n';
    const after = editConfig('goose', yaml, ['mcp']);
    expect(after).toContain('  # keep\n  b: 1\n');
    expect(after).not.toContain('old');
  });

  test.each([
    ['mcp-servers', '{"a": 1} x'],
    ['mcp-servers', '{"mcpServers": []}'],
    ['mcp-servers', '{"a": 1, "a": 2}'],
    ['mcp-servers', '{a: 1}'],
    ['mcp-servers', '[]'],
    ['codex', 'mcp_servers = { github = { command = "x" } }\n'],
    ['codex', '[[mcp_servers]]\ncommand = "x"\n'],
    ['codex', 'a = "unclosed\n'],
    ['codex', 'a = [1, 2\n'],
    ['goose', '{extensions: {}}'],
    ['goose', 'extensions: {a: {enabled: true}}\n'],
    ['goose', 'x: &a {b: 1}\nextensions:\n  c: *a\n'],
    ['goose', 'a: 1\n---\nb: 2\n'],
    ['goose', '- a\n'],
  ] as const)('%s: %j is left alone, with a sentence', (form, text) => {
    expect(() => editConfig(form, text, ['mcp'])).toThrow(expect.objectContaining({ code: 'CONFIG_UNEDITABLE' }));
  });
});

describe('editors', () => {
  const path = ['servers', 'skillbox'] as const;
  const value = { command: 'skillbox' };
  const key = fc.oneof(fc.constantFrom('servers', 'skillbox', 'a', '__proto__'), fc.string({ maxLength: 4 }));
  const leaf = fc.oneof(fc.string({ maxLength: 5 }), fc.integer(), fc.boolean(), fc.constant(null));
  const document = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, fc.oneof(leaf, fc.array(leaf)))));
  const gap = fc.constantFrom('', ' ', '\n', '\n  ', '/* "{ */', '// }\n', '\t');

  test('JSON with comments: after any edit everything else reads as before', () => {
    fc.assert(
      fc.property(document, fc.array(gap, { minLength: 1 }), fc.boolean(), (object, gaps, trailing) => {
        let turn = 0;
        const next = () => gaps[turn++ % gaps.length] ?? '';
        const write = (item: unknown): string => {
          if (Array.isArray(item)) return `[${item.map(one => next() + write(one) + next()).join(',')}${next()}]`;
          if (typeof item !== 'object' || item === null) return JSON.stringify(item);
          const rows = Object.entries(item).map(
            ([k, v]) => `${next()}${JSON.stringify(k)}${next()}:${next()}${write(v)}${next()}`,
          );
          return `{${rows.join(',')}${trailing && rows.length > 0 ? ',' : ''}${next()}}`;
        };
        const text = next() + write(object) + next();
        const servers = Object.hasOwn(object, 'servers') ? object.servers : {};
        if (typeof servers !== 'object' || servers === null) {
          expect(() => editJsonc(text, path, value)).toThrow(expect.objectContaining({ code: 'CONFIG_UNEDITABLE' }));
          return;
        }
        const after = editJsonc(text, path, value);
        const read = readJsonc(after).value as Record<string, Record<string, unknown>>;
        expect(read.servers?.skillbox).toEqual(value);
        const gone = readJsonc(editJsonc(after, path, null)).value as Record<string, Record<string, unknown>>;
        expect(Object.hasOwn(gone.servers ?? {}, 'skillbox')).toBe(false);
        expect(Object.keys(gone).filter(one => one !== 'servers')).toEqual(
          Object.keys(object).filter(one => one !== 'servers'),
        );
        for (const comment of text.match(/\/\* "\{ \*\/|\/\/ \}\n/g) ?? []) expect(after).toContain(comment.trim());
      }),
    );
  });

  test('whatever the text is, an editor answers or refuses with its own error', () => {
    for (const edit of [editJsonc, editToml, editYaml]) {
      fc.assert(
        fc.property(
          fc.string({ unit: fc.constantFrom(...Array.from('[]{}="\'#:,.\n -a\\&*|>')), maxLength: 30 }),
          text => {
            try {
              edit(text, path, value);
            } catch (error) {
              expect(error).toMatchObject({ code: 'CONFIG_UNEDITABLE' });
            }
          },
        ),
        { numRuns: 500 },
      );
    }
  });
});
