/** A process of its own that wants a layer: `layer-child.ts DIRECTORY PIP-INDEX`, and answers it as JSON. */
import { ensure, makeSite } from './workshop.ts';

const [directory = '', index = ''] = process.argv.slice(2);
const site = makeSite({ pip: index, npm: null }, { directory });
const layer = await ensure(site, { 'requirements.txt': 'slow\n' });
console.log(JSON.stringify(layer));
