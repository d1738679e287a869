// For bench/broker-inside.ts: asks again and again with Node's fetch, which the SDKs of model providers use, and prints how often
// in a second, when it has got going.
const [url = '', atOnce = '1', token = ''] = process.argv.slice(2);
const [BEFORE_MS, MS] = [700, 1000];
const headers = { authorization: `Bearer ${token}` };
const start = performance.now();
let count = 0;
const one = async () => {
  for (let now = start; now < start + BEFORE_MS + MS; now = performance.now()) {
    const answer = await fetch(url, { headers });
    if (answer.status !== 200) throw new Error(`${answer.status}`);
    await answer.arrayBuffer();
    if (now >= start + BEFORE_MS) count++;
  }
};
await Promise.all(Array.from({ length: Number(atOnce) }, one));
process.stdout.write(`${count / (MS / 1000)}\n`);
process.exit(0);
