import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { deflateSync } from 'node:zlib';
import { loadSource } from './lib/load-source.js';

const base = 'sha1 and deflate';
const root = path.join(import.meta.dirname, '..');

/** The search for secrets, beside the minimal cost of storing the same bytes. */
export const redact = {
  name: 'redact',
  summary: 'secrets looked for in code, JSON and maps, beside sha1 and deflate of the same bytes',

  async *compare({ quick, rounds = quick ? 3 : 7 }) {
    const { createRedactor } = await loadSource('src/redaction/create-redactor.ts');
    const key = Buffer.alloc(32, 7);
    // Forty values, as in an environment.
    const known = Array.from({ length: 40 }, (_, at) => createHash('sha256').update(String(at)).digest('base64url'));
    const redactor = createRedactor({ key, known });
    const texts = textsOf(quick ? 4 : 20);
    yield {
      what: `${texts.length} files, ${quick ? 4 : 20} MB, forty known values`,
      base,
      rounds,
      inProcess: true,
      limits: { whole: 3, 'in pieces of 4 kB': 3 },
      contestants: {
        [base]: () => {
          for (const { bytes } of texts) {
            createHash('sha1').update(bytes).digest();
            deflateSync(bytes);
          }
        },
        whole: () => {
          for (const { text } of texts) redactor.redactText(text);
        },
        'in pieces of 4 kB': () => {
          for (const { text } of texts) inPieces(redactor.openStream(), text, 4096);
        },
      },
    };
    const small = texts[0].text.slice(0, 4096);
    yield {
      what: 'a reply of 4 kB, first with a new redactor',
      base,
      rounds: rounds * 20,
      inProcess: true,
      contestants: {
        [base]: () => {
          createHash('sha1').update(small).digest();
          deflateSync(small);
        },
        'known redactor': () => void redactor.redactText(small),
        'new redactor': () => void createRedactor({ key, known }).redactText(small),
        'in words of 8': () => inPieces(redactor.openStream(), small, 8),
      },
    };
  },
};

function inPieces(stream, text, size) {
  for (let at = 0; at < text.length; at += size) stream.write(text.slice(at, at + size));
  stream.end();
}

/** The packages that this repository is built with. */
function textsOf(megabytes) {
  const texts = [];
  let left = megabytes * 1e6;
  const entries = readdirSync(path.join(root, 'node_modules'), { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile() || !/\.(?:js|cjs|ts|json|map|md)$/.test(entry.name)) continue;
    const bytes = readFileSync(path.join(entry.parentPath, entry.name)).subarray(0, 400_000);
    texts.push({ bytes, text: bytes.toString() });
    left -= bytes.length;
    if (left <= 0) break;
  }
  return texts;
}
