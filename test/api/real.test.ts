import { join } from 'node:path';
import { it } from 'vitest';
import { openParts } from '../../src/parts.ts';
import { thisWriter } from '../../src/runs/index.ts';
import { openSignedLinks, openStore } from '../../src/store/index.ts';
import { apiContract } from '../contracts/api.ts';
import { realStage } from '../support/real-stage.ts';
import { openService } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

if (NO_SANDBOX) it.skip('bubblewrap is not installed');
else
  apiContract(
    'over the real service',
    async () => {
      const data = tempDir('api');
      const links = openSignedLinks(join(data, 'links.key'), () => '');
      const store = openStore(data, thisWriter(), { kind: 'disk', sign: links.sign });
      const parts = openParts(optionsOf(data, 'bubblewrap', 0), undefined, store);
      return realStage({ service: await openService(['acme', 'beta'], { data, parts }), store, links });
    },
    { shots: 8 },
  );
