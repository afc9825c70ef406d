import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

type House = {
  rooms: Map<string, Record<string, number>>;
  sum: Record<string, number>;
  testLines: number;
  circles: Record<'rooms' | 'folders' | 'files', string[]>;
};
type ReadHouse = (folder: string, chosen: string[], step: Map<string, string[]>) => House;

// Plain JavaScript, as all scripts.
const script = new URL('../../scripts/figures/read-house.js', import.meta.url).href;
const { readHouse } = (await import(script)) as { readHouse: ReadHouse };

const files = {
  'src/ground.ts': 'export const one = 1, two = 2;\nexport type Three = 3;\n',
  'src/high/door.ts':
    "import type { Three } from '../ground.ts';\nimport { one } from '../ground.ts';\nimport 'node:fs';\n" +
    "export { two } from '../ground.ts';\nexport * from './inner/part.ts';\n// import { x } from './comment.ts';\n",
  'src/high/inner/part.ts': "export type Door = typeof import('../door.ts');\nconst a = 1;\nexport { a };\n",
  'src/high/inner/lazy.ts': "import '../door.ts';\nexport const load = () => import('./part.ts');\n",
  'src/low/back.ts': "import '../high/inner/part.ts';\n",
  'src/low/table.json': '{}\n',
  'test/a.test.ts': '\n\n',
  'test/mutation/node_modules/b.js': '\n',
};

test('lines, imports, exports and what a step runs are counted by room', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-figures-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
      writeFileSync(path.join(folder, name), text);
    }
    const step = new Map([['high/door.ts', ['open', '']]]);

    const { rooms, sum, testLines, circles } = readHouse(folder, [], step);
    expect(Object.fromEntries(rooms)).toEqual({
      '(beside)': { lines: 2, files: 1, imports: 0, twice: 0, lazy: 0, exports: 3, functions: 0, covered: 0 },
      high: { lines: 11, files: 3, imports: 5, twice: 1, lazy: 1, exports: 3, functions: 2, covered: 1 },
      low: { lines: 1, files: 1, imports: 1, twice: 0, lazy: 0, exports: 0, functions: 0, covered: 0 },
    });
    expect(sum).toMatchObject({ lines: 14, files: 5, imports: 6, exports: 6 });
    expect(testLines).toBe(2);
    expect(circles).toEqual({ rooms: [], folders: ['high high/inner'], files: [] });
    expect(readHouse(folder, ['low'], step).sum).toMatchObject({ lines: 1, files: 1 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
