import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const features = [
  'discount',
  'tax',
  'currency',
  'coupon',
  'shipping',
  'gift-wrap',
  'loyalty',
  'receipt',
  'invoice',
  'refund',
  'stock',
  'bundle',
  'voucher',
  'deposit',
  'tip',
  'donation',
  'subscription',
  'wishlist',
  'reminder',
  'parcel',
  'barcode',
  'report',
];

const total = `/** The sum of some prices, to the cent. */
export function total(prices) {
  return Math.round(prices.reduce((sum, price) => sum + price, 0) * 100) / 100;
}
`;

/** The broken version: it looks simpler, and is sometimes a cent short. */
const brokenTotal = total.replace('Math.round', 'Math.floor');

const testProgram = `import { total } from './src/total.js';

const cases = [[[1, 2, 3], 6], [[0.1, 0.7, 0.35], 1.15], [[19.99, 5.01], 25]];
for (const [prices, expected] of cases) {
  const sum = total(prices);
  if (sum === expected) continue;
  console.error(\`\${prices.join(' + ')} is \${expected}, not \${sum}\`);
  process.exitCode = 1;
}
`;

const moduleOf = (feature) => `/** Part of the shop: ${feature}. */\nexport const name = '${feature}';\n`;

/**
 * Fills an empty folder with a repository of a small shop: a commit for the beginning, one for each feature, and among
 * them one that breaks what \`node test.js\` checks.
 *
 * @param {string} folder
 * @param {object} options
 * @param {(...argv: string[]) => string} options.git runs git in the folder and returns what it prints
 * @returns the first commit, the planted one, its place in the history (from 1) and the number of commits
 */
export function plantRepository(folder, { git }) {
  const write = (name, text) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  const commit = (subject) => {
    git('add', '--all');
    git('commit', '--quiet', '--message', subject);
    return git('rev-parse', 'HEAD').trim();
  };

  write('package.json', `${JSON.stringify({ name: 'shop', private: true, type: 'module' }, null, 2)}\n`);
  write('src/total.js', total);
  write('test.js', testProgram);
  const commits = [commit('Open the shop')];

  const plantedAfter = randomInt(features.length);
  let planted = '';
  features.forEach((feature, index) => {
    write(`src/${feature}.js`, moduleOf(feature));
    commits.push(commit(`Add ${feature}`));
    if (index !== plantedAfter) return;
    write('src/total.js', brokenTotal);
    planted = commit('Tidy up the rounding');
    commits.push(planted);
  });
  return {
    good: commits[0],
    planted,
    place: commits.indexOf(planted) + 1,
    count: commits.length,
  };
}

/** Returns a function that runs git in a folder, with a fixed author and without the machine's configuration. */
export function gitIn(folder, env) {
  return (...argv) => execFileSync('git', argv, { cwd: folder, env, encoding: 'utf8' });
}
