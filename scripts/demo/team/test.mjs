// Every format has a module that writes it, and every module is a format. The files are those of the folder it is started in.
import { readFileSync, readdirSync } from 'node:fs';

const others = new Set(['formats.mjs', 'text.mjs']);
const modules = readdirSync('src').filter((file) => !others.has(file));
const formats = [...readFileSync('src/formats.mjs', 'utf8').matchAll(/'(\w+)'/g)].map(([, name]) => name);
const named = formats.filter((format) => format !== 'text').map((format) => `${format}.mjs`);
if (modules.toSorted().join() === named.toSorted().join()) {
  console.log(`${formats.length} formats work: ${formats.join(', ')}`);
} else {
  console.error(`src has ${modules.join(', ') || 'no modules'}, and the formats are ${formats.join(', ')}`);
  process.exitCode = 1;
}
