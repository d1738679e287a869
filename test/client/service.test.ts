import { it } from 'vitest';
import { serviceContract } from '../contracts/service.ts';
import { openServed } from '../support/served.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

if (NO_SANDBOX) it.skip('bubblewrap is not installed');
else
  serviceContract('over HTTP', async () => {
    const served = await openServed();
    return { as: (tenant, who = 'first') => served.clientFor(tenant, who), close: () => served.close() };
  });
