import { expect, test } from 'vitest';
import { markdown } from '../../../src/web/parts/said-text.tsx';

test('a column of a table is aligned without an inline style', () => {
  const html = markdown('| a | b |\n| ---: | --- |\n| 1 | 2 |').toString();
  expect(html).toContain('<td align="right">1</td>\n<td>2</td>');
  expect(html).not.toContain('style');
});

test.each([
  ['![x](https://example.org/x.png)', '<img'],
  ['<script>alert(1)</script> <b onclick="x()">b</b>', '<script'],
  ['<b onclick="x()">b</b>', '<b'],
  ['[x](javascript:alert(1))', 'href'],
  ['[x](data:text/html;base64,PHNjcmlwdD4=)', 'href'],
  ['[x](vbscript:x)', 'href'],
])('what could run or load something is text: %s', (text, forbidden) => {
  expect(markdown(text).toString()).not.toContain(forbidden);
});
