import { it } from 'vitest';
import { serviceContract } from '../contracts/service.ts';
import { openService } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

if (NO_SANDBOX) it.skip('bubblewrap is not installed');
else
  serviceContract('in process', async () => {
    const opened = await openService();
    return { as: async (tenant, who = 'first') => opened.as(tenant, who), close: () => opened.close() };
  });
