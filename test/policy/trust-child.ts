// Adds trust in a process of its own: DATA PREFIX COUNT.
import { openTrustStore } from '../../src/policy/index.ts';

const [data = '', prefix = '', count = '0'] = process.argv.slice(2);
const store = openTrustStore(data);
for (let index = 0; index < Number(count); index++) store.add('path', `/srv/${prefix}-${index}`);
