// An arbiter, in place of a model: it finds a list of formats that two phases changed, and keeps what each of them added.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const unmerged = execFileSync('git', ['diff', '--name-only', '--diff-filter=U'], { encoding: 'utf8' })
  .trim()
  .split('\n');
for (const file of unmerged) {
  const resolved = readFileSync(file, 'utf8').replace(/<{7}[^]*>{7}.*\n/, (conflict) => {
    const names = [...conflict.matchAll(/'(\w+)'/g)].map(([, name]) => `'${name}'`);
    return `export const formats = [${[...new Set(names)].join(', ')}];\n`;
  });
  writeFileSync(file, resolved);
}
process.stdout.write(`---\n$status: resolved\n---\nBoth formats stay in the list, in ${unmerged.join(', ')}.\n`);
