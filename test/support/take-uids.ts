/** Takes uids as fast as it can, tells them, and holds them until it is killed. */
import { takeUid } from '../../src/sandbox/uids.ts';

const range = JSON.parse(process.argv[2] ?? '{}');
const taken = Array.from({ length: Number(process.argv[3]) }, () => takeUid(range));
process.send?.(taken.map(({ uid }) => uid));
setInterval(() => undefined, 1000);
