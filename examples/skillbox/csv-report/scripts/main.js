// Summarises CSV; shows a Node entrypoint with a sibling module and an artifact.
const fs = require('node:fs');
const path = require('node:path');
const { summarise } = require('./summarise.js');

const { csv } = JSON.parse(process.env.SANDBOX_INPUT || fs.readFileSync('/sandbox/input.json', 'utf8'));
if (typeof csv !== 'string') {
  console.error('the input needs "csv"');
  process.exit(1);
}
const columns = summarise(csv);
fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ columns }));

const names = Object.keys(columns);
const highest = Math.max(1, ...names.map(name => Math.abs(columns[name].mean)));
const bars = names.map((_name, i) => {
  const height = (Math.abs(columns[names[i]].mean) / highest) * 90;
  return `<rect x="${i * 30 + 5}" y="${95 - height}" width="20" height="${height}"/>`;
});
const files = process.env.SANDBOX_FILES_DIR;
fs.mkdirSync(files, { recursive: true });
fs.writeFileSync(
  path.join(files, 'means.svg'),
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${names.length * 30} 100">${bars.join('')}</svg>\n`,
);
console.log(`summarised ${names.length} columns`);
