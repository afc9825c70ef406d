import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { splitFrontMatter } from '../../../src/agent/extract/front-matter.ts';

const fields = '$status: done\nwords: 3\n';

describe('what is tolerated around the front matter', () => {
  test.each([
    ['nothing', `---\n${fields}---\nThe text.\n`],
    ['a byte order mark', `\uFEFF---\n${fields}---\nThe text.\n`],
    ['blank lines', `\n  \n\n---\n${fields}---\n\n\nThe text.\n`],
    ['white space after the dashes', `--- \t\n${fields}---  \nThe text.\n`],
    ['a leading sentence', `Here is my reply:\n\n---\n${fields}---\nThe text.\n`],
    ['a leading sentence right above', `Here is my reply:\n---\n${fields}---\nThe text.\n`],
    ['a fence around all', `\`\`\`markdown\n---\n${fields}---\nThe text.\n\`\`\`\n`],
    ['a sentence, and a fence around all', `Sure!\n\n\`\`\`\`md\n---\n${fields}---\n\nThe text.\n\`\`\`\`\n`],
    ['a fence around the front matter', `\`\`\`yaml\n---\n${fields}---\n\`\`\`\n\nThe text.\n`],
    ['a fence of tildes', `~~~\n---\n${fields}---\n~~~\nThe text.\n`],
    ['a yaml fence in place of the dashes', `\`\`\`yaml\n${fields}\`\`\`\n\nThe text.\n`],
  ])('%s', (_, reply) => {
    expect(splitFrontMatter(reply)).toMatchObject({ kind: 'found', yaml: fields, body: 'The text.\n' });
  });

  test('lines that end with CRLF, which stay as they are', () => {
    const reply = `---\n${fields}---\nOne.\n\nTwo.\n`.replaceAll('\n', '\r\n');
    expect(splitFrontMatter(reply)).toMatchObject({
      kind: 'found',
      yaml: fields.replaceAll('\n', '\r\n'),
      body: 'One.\r\n\r\nTwo.\r\n',
    });
  });
});

describe('the body', () => {
  test.each([
    ['is empty where nothing follows', `---\n${fields}---`, ''],
    ['keeps its rules', `---\n${fields}---\nOne\n\n---\n\nTwo\n`, 'One\n\n---\n\nTwo\n'],
    ['keeps its fences', `---\n${fields}---\n\`\`\`js\nf();\n\`\`\`\n`, '```js\nf();\n```\n'],
    [
      'keeps its fences inside a fence',
      `\`\`\`\n---\n${fields}---\nRun:\n\`\`\`sh\nls\n\`\`\`\n\`\`\`\n`,
      'Run:\n```sh\nls\n```\n',
    ],
    [
      'keeps its fences in a fence that nobody closed',
      `\`\`\`\n---\n${fields}---\n\`\`\`sh\nls\n\`\`\`\n`,
      '```sh\nls\n```\n',
    ],
    ['keeps what follows the fence around all', `\`\`\`\n---\n${fields}---\nOne\n\`\`\`\nTwo\n`, 'One\nTwo\n'],
    ['keeps its indentation', `---\n${fields}---\n\n    code\n`, '    code\n'],
  ])('%s', (_, reply, body) => {
    expect(splitFrontMatter(reply)).toMatchObject({ kind: 'found', yaml: fields, body });
  });

  test('is any text at all, to the last character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const body = `.${text}`;
        expect(splitFrontMatter(`---\n${fields}---\n${body}`)).toMatchObject({ kind: 'found', yaml: fields, body });
      }),
    );
  });
});

test('dashes inside a block of text do not end the front matter', () => {
  const yaml = 'reason: |\n  one\n  ---\n  two\n';
  expect(splitFrontMatter(`---\n${yaml}---\n`)).toMatchObject({ kind: 'found', yaml });
});

describe('what is no front matter', () => {
  test.each([
    ['nothing', ''],
    ['a text', 'Just text.\n'],
    ['a rule between paragraphs', 'One.\n\n---\n\nNote: two.\n\n---\n\nThree.\n'],
    ['a heading underlined with dashes', 'Heading\n---\nA paragraph.\n\n---\n'],
    ['fields without dashes', fields],
    ['a fence of something else', '```json\n{"a": 1}\n```\n'],
    ['fields after an essay', `${'Many words. '.repeat(100)}\n---\n${fields}---\n`],
    ['fields after two paragraphs', `One.\n\nTwo.\n\n---\n${fields}---\n`],
  ])('%s', (_, reply) => {
    expect(splitFrontMatter(reply)).toEqual({
      kind: 'missing',
      error: expect.stringMatching(/^missing front matter/u),
    });
  });

  test('an opening without an end, which is said', () => {
    expect(splitFrontMatter(`---\n${fields}Text.\n`)).toEqual({
      kind: 'missing',
      error: expect.stringContaining('not closed'),
    });
  });

  test('never anything that makes the search fail', () => {
    const piece = fc.constantFrom('---', '```', '```yaml', '~~~~', 'a: 1', 'text', '', ' ', '\r', '\uFEFF');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const reply = pieces.join('\n');
        const split = splitFrontMatter(reply);
        if (split.kind === 'found') expect(reply).toContain(split.yaml);
      }),
    );
  });
});
