import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { activateSkill, activationEvent, changeEvent, discover } from '../../src/catalog/index.ts';
import { openDirectory } from '../../src/skill/index.ts';
import { skillsIn, user } from './make.ts';

test('AS-14 an activation and a change of the catalog are events that the journal can take', () => {
  const root = skillsIn({ a: 'A.', b: 'B.', c: 'C.' });
  const before = discover([user(root)]);
  expect(changeEvent(discover([user(root)]), before)).toBeNull();
  skillsIn({ b: 'Bee.', d: 'D.', e: '---\nname: e\n---\n' }, root);
  rmSync(join(root, 'a'), { recursive: true });
  expect(changeEvent(discover([user(root)]), before)).toEqual({
    type: 'catalog.changed',
    subject: null,
    data: {
      added: [
        { name: 'd', folder: join(root, 'd') },
        { name: 'e', folder: join(root, 'e') },
      ],
      removed: [{ name: 'a', folder: join(root, 'a') }],
      changed: [{ name: 'b', folder: join(root, 'b') }],
    },
  });
  const activation = activateSkill(openDirectory(join(root, 'b')));
  expect(activationEvent(activation, 'sb1-sha256:0', 'test')).toEqual({
    type: 'skill.activated',
    subject: 'b',
    data: { digest: 'sb1-sha256:0', dialect: 'agent-skills', client: 'test' },
  });
});
