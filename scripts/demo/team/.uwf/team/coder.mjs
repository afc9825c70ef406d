// A coder, in place of a model: it adds the format that its phase names, in the work tree that it is started in.
import { readFileSync, writeFileSync } from 'node:fs';

const bodies = {
  csv: "rows.map((row) => row.map((cell) => `\"${String(cell).replaceAll('\"', '\"\"')}\"`).join(',')).join('\\n')",
  json: 'JSON.stringify(rows, null, 2)',
};

const [, format] = /The format is (\w+)\./.exec(readFileSync(0, 'utf8')) ?? [];
let said = 'I have described the formats.';
if (format === undefined) {
  writeFileSync('FORMATS.md', 'A report is written as text, CSV or JSON.\n');
} else {
  writeFileSync(`src/${format}.mjs`, `export const write = (rows) => ${bodies[format]};\n`);
  const list = readFileSync('src/formats.mjs', 'utf8');
  writeFileSync('src/formats.mjs', list.replace("['text']", `['text', '${format}']`));
  said = `Reports can be written as ${format}.`;
}
process.stdout.write(`---\n$status: coded\n---\n${said}\n`);
