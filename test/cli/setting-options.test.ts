import { describe, expect, test } from 'vitest';
import { type Command, parseInput } from '../../src/cli/command.ts';
import { settingFlags, settingOptions } from '../../src/cli/setting-options.ts';

const NAMES = ['server.host', 'server.port', 'server.public'] as const;
const command: Command = {
  name: 'x',
  summary: '',
  args: [],
  options: settingOptions(NAMES),
  examples: [],
  run: async () => 0,
};

describe('flags that are settings', () => {
  test('have their names and words from the table', () => {
    expect(Object.keys(command.options)).toEqual(['host', 'port', 'public']);
    expect(command.options.port).toEqual({
      help: expect.stringContaining('port to listen on') as string,
      value: 'PORT',
    });
    expect(command.options.public?.value).toBeUndefined();
    expect(settingOptions(['client.url']).server?.value).toBe('URL');
  });

  test('what was said goes to the configuration, what was not does not', () => {
    expect(settingFlags(NAMES, parseInput(command, ['--port', '1', '--public']))).toEqual({
      'server.port': '1',
      'server.public': 'yes',
    });
    expect(settingFlags(NAMES, parseInput(command, []))).toEqual({});
  });
});
