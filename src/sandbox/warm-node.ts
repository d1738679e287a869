/** Runs in the sandbox as node's main script, before the run is known and after PID 1 has locked down. */
export const NODE_BOOT = `\
'use strict';
{
  const fs = require('node:fs');
  const { Module } = require('node:module');
  for (const name of ['buffer', 'child_process', 'crypto', 'events', 'fs/promises', 'os', 'path', 'stream', 'url', 'util'])
    require('node:' + name);
  // Once for nothing, so that the pages of what is to come are in memory.
  new Module('/boot')._compile('0', '/boot');
  fs.writeFileSync('/dev/null', JSON.stringify(JSON.parse('{"a":[1]}')));
  // What the start left behind is swept now, not in the middle of the run.
  const v8 = require('node:v8');
  v8.setFlagsFromString('--expose-gc');
  const sweep = require('node:vm').runInNewContext('gc');
  v8.setFlagsFromString('--no-expose-gc');
  sweep();
  sweep();
  // Taking the engine apart takes longer than most scripts. Where nobody could tell, the process just ends: all went well,
  // nobody else waits for the exit or has changed how it comes about, and nothing is loaded that has something to finish.
  const { emit, reallyExit, pid, _kill: kill } = process;
  const loaded = process.moduleLoadList.length;
  const plain = /^(Internal Binding |NativeModule (internal\\/|_|(assert|async_hooks|buffer|child_process|crypto|dns|events|fs|http|https|net|os|path|perf_hooks|process|punycode|querystring|readline|stream|string_decoder|timers|tls|tty|url|util|zlib)(\\/|$)))/;
  process.on('exit', code => {
    if (code !== 0 || process.listenerCount('exit') !== 1 || process.emit !== emit || process.reallyExit !== reallyExit) return;
    if (!process.moduleLoadList.slice(loaded).every(name => plain.test(name))) return;
    if (Object.keys(Module._cache).some(name => name.endsWith('.node'))) return;
    // A file that is being written or copied by a thread is waited for at a usual end, also after process.exit().
    if (process.getActiveResourcesInfo().some(name => name.startsWith('FSReq'))) return;
    kill(pid, 64);
  });
  fs.writeSync(3, 'R');
  fs.readSync(3, Buffer.allocUnsafeSlow(1));
  fs.closeSync(3);
  const words = fs.readFileSync(4, 'utf8').split('\\0');
  fs.closeSync(4);
  if (words.length < 4) process.reallyExit(125);
  const count = Number(words[1]);
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of words.slice(2 + count, -1)) {
    const at = entry.indexOf('=');
    process.env[entry.slice(0, at)] = entry.slice(at + 1);
  }
  try {
    process.chdir(words[0]);
  } catch (error) {
    fs.writeSync(2, 'skillbox: cannot enter ' + words[0] + ': ' + error.message + '\\n');
    process.reallyExit(126);
  }
  process.argv.splice(1, process.argv.length, ...words.slice(3, 2 + count));
  delete require.cache[__filename];
  // Called by the event loop, so that no frame of ours stands in the skill's stack traces.
  setImmediate(Module.runMain, process.argv[1]);
}
`;
