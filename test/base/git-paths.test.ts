import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wordsObeyedByGit } from '../../src/base/git-paths.ts';

const wordsOf = (text: string) => (wordsObeyedByGit(text) ?? []).map(({ word }) => word);

describe('words of a git config', () => {
  it.each([
    ['[core]\n\thooksPath = .githooks', ['.githooks']],
    ['[CORE] HooksPath=a/b', ['a/b']],
    ['[core]\n\thookspath = "with blank"', ['with blank']],
    ['[include]\n\tpath = ../x', ['../x']],
    ['[includeIf "gitdir:~/w/"]\r\n\tpath = ../x\r', ['../x']],
    ['[submodule "s"]\n\tpath = vendor/s', []],
    ['[filter "x"]\n\tclean = "bin/clean" %f | sort', ['bin/clean', '%f', 'sort']],
    ['[alias]\n\tdeploy = !tools/deploy.sh --now', ['tools/deploy.sh', '--now']],
    ['[core]\n\tbare = false\n[remote "o"]\n\turl = ./up.git', []],
    ['[core]\n\thooksPath = .githooks # of ours\n\tfsmonitor = "a#b" ; of theirs', ['.githooks', 'a#b']],
    ['[core]\n\thooksPath = .git\\\r\nhooks\r\n\tpager = less', ['.githooks', 'less']],
    ['[core]\n\thooksPath = .git"ho"oks', ['.githooks']],
    ['; [core] \\\n[include]\n\tother = a \\\n[core]\n\tpath = ../x', ['../x']],
    ['[includeIf "gitdir:/a]b/"] path = ../x', ['../x']],
    ['[alias]\n\t# old = gone \\\n\tx = "!a\\nb/c"', ['a', 'b/c']],
    ['[diff]\n\texternal = tools/diff.sh\n[pager]\n\tlog = tools/page', ['tools/diff.sh', 'tools/page']],
    [
      '[mergetool "m"]\n\tpath = tools/m\n[submodule "s"]\n\tupdate = !tools/u\n[submodule "t"]\n\tupdate = merge',
      ['tools/m', 'tools/u'],
    ],
    ['hooksPath = before/any/section', ['before/any/section']],
  ])('%j', (text, words) => expect(wordsOf(text)).toEqual(words));

  it('too many to look for are none that could be relied on', () => {
    const many = Array.from({ length: 2001 }, (_, at) => `a${at} = x${at}`).join('\n');
    expect(wordsObeyedByGit(`[alias]\n${many}`)).toBeNull();
    expect(wordsObeyedByGit(`[core]\n${many}\nhooksPath = h`)).toEqual([{ word: 'h', kind: 'hooks' }]);
  });

  it('whatever stands there ends soon and throws nothing', () => {
    fc.assert(fc.property(fc.string({ maxLength: 400, unit: 'binary' }), text => void wordsOf(text)));
    const blanks = ' '.repeat(200_000);
    for (const text of [
      `[${blanks}`,
      `[core] x${blanks}`,
      `[core] hooksPath = a${blanks}b`,
      `[core]\n pager =${blanks}"`,
    ])
      expect(wordsOf(text).length).toBeLessThan(3);
    expect(wordsOf(`[core] hooksPath = ${'"\\'.repeat(50_000)}`)).toHaveLength(1);
  });
});
