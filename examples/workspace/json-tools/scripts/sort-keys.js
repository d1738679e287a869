const fs = require('node:fs');

const sort = value => {
  if (Array.isArray(value)) return value.map(sort);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map(key => [key, sort(value[key])]));
};

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: sort-keys.js FILE');
  process.exit(2);
}
fs.writeFileSync(file, `${JSON.stringify(sort(JSON.parse(fs.readFileSync(file, 'utf8'))), null, 2)}\n`);
