// Writes the documents that list what the code knows; with --check, fails when one of them is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_TYPES } from '../src/audit/index.ts';
import { ERRORS } from '../src/base/index.ts';
import { FAMILIES, PLACES, RULES, type Rule, SEVERITIES } from '../src/scan/index.ts';
import { SHIPPED_PROVIDERS } from '../src/secrets/index.ts';
import { CODES, type CodeEntry } from '../src/skill/index.ts';
import { settingsTable, variablesTable } from './config-tables.ts';
import { channelsTable, decisionTable, levelsTable, rulesTable } from './policy-tables.ts';
import { seccompProfile } from './seccomp-profile.ts';

const root = join(import.meta.dirname, '..');
const note = '<!-- Written by `npm run docs` from the code; edit the code. -->';

function diagnostics(): string {
  const rows = Object.entries<CodeEntry>(CODES).map(([code, { strict, lenient, title, why, hint, requirement }]) => {
    const text = [why, hint].filter(part => part !== '').join(' ');
    return `### \`${code}\`\n\n${title[0]?.toUpperCase()}${title.slice(1)}. ${text}\n\nStrict: ${strict}. Lenient: ${lenient}. Rule: ${requirement}.`;
  });
  return `# Diagnostics

${note}

Every finding of \`skillbox skill lint\`. *Strict* is how lint and publish take it; *lenient* how discovery and the run of
a local folder do. An error in strict reading makes \`ok\` false and the exit code 3; \`loads\` says whether a lenient client
would load the skill all the same. Rule ids are those of \`conformance/requirements.json\`.

${rows.join('\n\n')}
`;
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, exit, hint }]) => `| \`${code}\` | ${exit} | ${status} | ${hint} |`,
  );
  return `# Errors

${note}

What goes wrong outside a skill. With \`--json\` an error is one document on stdout: \`{"error","message","hint","details"}\`.

| code | exit code | HTTP status | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function eventTypes(): string {
  return Object.entries(EVENT_TYPES)
    .map(([type, { what, subject, data }]) => {
      const fields = Object.entries(data).map(([name, meaning]) => `- \`${name}\`: ${meaning}`);
      return `### \`${type}\`\n\n${what} Subject: ${subject}.\n\n${fields.join('\n')}`;
    })
    .join('\n\n');
}

/** A page that people write, with tables between `<!-- table NAME` and `<!-- /table -->`. */
function withTables(path: string, tables: Record<string, () => string>): string {
  const text = readFileSync(join(root, path), 'utf8');
  const found = new Set<string>();
  const filled = text.replace(
    /(<!-- table (\w+)[^>]*-->)[\s\S]*?(<!-- \/table -->)/g,
    (_all, open, name: string, close) => {
      found.add(name);
      return `${open}\n\n${tables[name]?.() ?? ''}\n\n${close}`;
    },
  );
  const missing = Object.keys(tables).filter(name => !found.has(name));
  if (missing.length > 0) throw new Error(`${path} has no place for ${missing.join(', ')}`);
  return filled;
}

/** SK-08: what ships. */
function providersTable(): string {
  const rows = SHIPPED_PROVIDERS.flatMap(({ name, host, endpoints, customs }) => [
    ...endpoints.map(endpoint => {
      const requests = endpoint.requests.map(({ methods, path }) => `\`${methods.join(',')} ${path}\``).join('<br>');
      const carries = endpoint.carriesOut ? '; others can read it' : '';
      return `| \`${name}/${endpoint.name}\` | ${endpoint.what}${carries} | ${host} | ${requests} |`;
    }),
    ...customs.map(({ key, hosts }) => `| \`custom/${key}\` | bound to its host | ${hosts.join(', ')} | |`),
  ]);
  return ['| capability | what it can do | host | requests |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

const policyTables = { decisions: decisionTable, rules: rulesTable, channels: channelsTable, levels: levelsTable };

function scanTable(): string {
  const families = Object.entries(FAMILIES).map(([family, title]) => {
    const rows = RULES.filter(rule => rule.family === family).map(scanRow);
    const head = '| rule | what and why | what to do | how grave at most, and where |\n| --- | --- | --- | --- |';
    return `### ${title}\n\n${head}\n${rows.join('\n')}`;
  });
  return families.join('\n\n');
}

function scanRow({ id, title, why, fix, where }: Rule): string {
  const grave = SEVERITIES.map(severity => ({ severity, places: PLACES.filter(place => where[place] === severity) }))
    .filter(({ places }) => places.length > 0)
    .map(({ severity, places }) => `${severity}: ${places.join(', ')}`);
  return `| \`${id}\` | ${title[0]?.toUpperCase()}${title.slice(1)}. ${why} | ${fix} | ${grave.join('; ')} |`;
}

const stale: string[] = [];
for (const [path, text] of Object.entries({
  'docs/diagnostics.md': diagnostics(),
  'docs/errors.md': errors(),
  'docs/configuration.md': withTables('docs/configuration.md', { settings: settingsTable, variables: variablesTable }),
  'deploy/seccomp.json': seccompProfile(),
  'docs/policy.md': withTables('docs/policy.md', policyTables),
  'docs/scan.md': withTables('docs/scan.md', { scan: scanTable }),
  'docs/secrets.md': withTables('docs/secrets.md', { providers: providersTable }),
  'docs/audit.md': withTables('docs/audit.md', { types: eventTypes }),
})) {
  const file = join(root, path);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (read(file) !== text) stale.push(path);
}
if (stale.length > 0) {
  process.stderr.write(`${stale.join(', ')}: not what the code says; run: npm run docs\n`);
  process.exitCode = 1;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null; // a document that is not there is stale
  }
}
