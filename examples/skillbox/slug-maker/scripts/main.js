import { readFileSync, writeFileSync } from 'node:fs';
import slugify from 'slugify';

const { titles = [] } = JSON.parse(readFileSync('/sandbox/input.json', 'utf8'));
const slugs = titles.map(title => slugify(String(title), { lower: true, strict: true }));
writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ slugs }));
