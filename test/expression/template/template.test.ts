import { describe, expect, test } from 'vitest';

import { renderTemplate, templateVariables } from '../../../src/expression/template/template.ts';
import type { JsonObject } from '../../../src/json.ts';

const variables: JsonObject = {
  reason: 'too short',
  count: 3,
  nested: { deep: ['a', 'b'] },
  list: [{ name: 'one' }, { name: 'two' }],
  date: '2026-03-04',
};

describe('rendering', () => {
  test.each([
    ['plain text, with } and { and %', 'plain text, with } and { and %'],
    ['Again: {{ reason }}', 'Again: too short'],
    ['{{ nested.deep[1] }}{{ nested.deep | last }}', 'bb'],
    ['{% for item in list %}- {{ item.name }}\n{% endfor %}', '- one\n- two\n'],
    ['{% if count > 2 %}many{% else %}few{% endif %}', 'many'],
    ['{% assign x = count | plus: 1 %}{{ x }}', '4'],
    ['{% capture x %}{{ reason }}!{% endcapture %}{{ x | upcase }}', 'TOO SHORT!'],
    ['{{ missing }}{{ missing.deeper[0].still }}', ''],
    ['{{ missing | default: "none" }}', 'none'],
    ['{{ nested | json }}', '{"deep":["a","b"]}'],
    ['<b>{{ "<i>" }}</b>', '<b><i></b>'],
    ['{% for i in list %}{{ forloop.index }}{{ forloop.first }}{{ forloop.length }}{% endfor %}', '1true22false2'],
    ['{% for i in list %}{{ forloop | json }}{% break %}{% endfor %}', '{"i":0,"length":2,"name":"i-list"}'],
    ['{% raw %}{{ kept }}{% endraw %}', '{{ kept }}'],
    ['{{ date | date: "%d.%m.%Y" }}', '04.03.2026'],
    ['{{ 0 | date: "%Y-%m-%d %H:%M" }}', '1970-01-01 00:00'],
    ['{{ "2026-01-01T00:00:00" | date: "%H:%M %z" }}', '00:00 +0000'],
    ['{{ "2026-01-01T00:00:00+02:00" | date: "%H:%M" }}', '22:00'],
    ['{{ missing | date: "%Y" }}', ''],
    ...[
      '2026-11-22 23:10:11 +0100',
      '2026-11-22T23:10:11+01:00',
      'Sun Nov 22 23:10:11 2026 +0100',
      'Sun, 22 Nov 2026 23:10:11 +0100',
      '2026-11-22 22:10:11Z',
      '1795385411',
      '1795385411.5',
    ].map((date): [string, string] => [`{{ "${date}" | date: "%Y-%m-%d %H:%M:%S" }}`, '2026-11-22 22:10:11']),
    ['{{ "-1" | date: "%Y-%m-%d %H:%M:%S" }} {{ "2026-11-22" | date: "%s" }}', '1969-12-31 23:59:59 1795305600'],
  ])('%j gives %j', async (source, text) => {
    expect(await renderTemplate(source, variables)).toBe(text);
  });

  test('the variables stay as they were', async () => {
    const before = structuredClone(variables);
    await renderTemplate(
      '{% assign reason = "x" %}{% assign list = list | concat: list | reverse %}{% capture count %}9{% endcapture %}',
      variables,
    );
    expect(variables).toEqual(before);
  });

  test('and of a row its column', async () => {
    const rows = '{% tablerow i in list cols: 2 %}{{ tablerowloop.col }}{{ tablerowloop.index }}{% endtablerow %}';
    expect((await renderTemplate(rows, variables)).replaceAll(/<[^>]*>/gu, '').trim()).toBe('1122');
  });

  test.each([
    '{{ constructor }}',
    '{{ nested.constructor.name }}',
    '{{ nested.__proto__ }}',
    '{{ list.constructor }}',
    '{{ reason.constructor }}',
    '{{ nested["__proto__"]["toString"] }}',
    '{{ nested.hasOwnProperty }}',
    '{{ list | map: "constructor" }}',
    '{{ empty.constructor }}{{ blank.constructor }}{{ nil.constructor }}{{ empty.__proto__ }}',
    ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'liquidMethodMissing', 'next'].flatMap((name) => [
      `{% for i in list %}{{ forloop.${name} }}{{ forloop["${name}"] }}{% endfor %}`,
      `{% assign key = "${name}" %}{% for i in list %}{{ forloop[key] }}{{ forloop[key].constructor }}{% endfor %}`,
    ]),
    '{% for i in list %}{{ forloop.__proto__.__proto__.__proto__.constructor.name }}{% endfor %}',
  ])('%s reaches no prototype', async (source) => {
    expect(await renderTemplate(source, variables)).toBe('');
  });
});

describe('what is refused when it is compiled', () => {
  test.each([
    ['{% if reason %}', 'not closed', 1, 1],
    ['one\ntwo {{ reason | nope }}', 'undefined filter: nope', 2, 5],
    ['{{ reason', 'not closed', 1, 1],
    ['{% nonsense %}', 'tag "nonsense" not found', 1, 1],
    ['{% include "secrets" %}', 'tag "include" not found', 1, 1],
    ['{% render "secrets" %}', 'tag "render" not found', 1, 1],
    ['{% layout "secrets" %}', 'tag "layout" not found', 1, 1],
    ['{{ list | sample }}', 'undefined filter: sample', 1, 1],
  ])('%j', async (source, reason, line, column) => {
    const expected = { code: 'template-syntax', kind: 'data', line, column, reason: expect.stringContaining(reason) };
    await expect(renderTemplate(source, {})).rejects.toMatchObject(expected);
    await expect(templateVariables(source)).rejects.toMatchObject(expected);
  });

  test('a template that is too long', async () => {
    await expect(renderTemplate(`{{ a }}${' '.repeat(300_000)}`, {})).rejects.toMatchObject({
      code: 'template-syntax',
    });
  });
});

describe('what ends when it is rendered', () => {
  test.each([
    ['a loop over a hundred million', '{% for i in (1..100000000) %}x{% endfor %}'],
    ['a row over a hundred million', '{% tablerow i in (1..100000000) %}x{% endtablerow %}'],
    ['loops in loops', '{% for i in (1..9999) %}{% for j in (1..9999) %}x{% endfor %}{% endfor %}'],
    ['a range that is joined', '{{ (1..1000000000) | join }}'],
    ['a string that doubles', '{% assign x = "x" %}{% for i in (1..60) %}{% assign x = x | append: x %}{% endfor %}'],
    [
      'a capture that doubles',
      '{% assign x = "x" %}{% for i in (1..26) %}{% capture x %}{{ x }}{{ x }}{% endcapture %}{% endfor %}{{ x.size }}',
    ],
    [
      'a list that doubles',
      '{% assign x = "a,b" | split: "," %}{% for i in (1..60) %}{% assign x = x | concat: x %}{% endfor %}',
    ],
    [
      'a replacement that multiplies',
      '{% assign x = "x" %}{% for i in (1..60) %}{% assign x = x | replace: "x", "xxxxxxxxx" %}{% endfor %}',
    ],
    ['a date of a million digits', '{{ 0 | date: "%1000000000Y" }}'],
    [
      'a result that is too long',
      '{% assign x = "x" %}{% for i in (1..22) %}{% assign x = x | append: x %}{% endfor %}{{ x }}{{ x }}',
    ],
  ])('%s', async (_, source) => {
    await expect(renderTemplate(source, variables)).rejects.toMatchObject({
      code: 'template-limit',
      kind: 'data',
      template: source,
    });
  });

  test.each([
    ['the result', '{% for i in (1..100000) %}{{ text }}{% endfor %}'],
    ['a capture', '{% capture x %}{% for i in (1..100000) %}{{ text }}{% endfor %}{% endcapture %}'],
    ['a list', '{% for i in (1..100000) %}{{ list }}{% endfor %}'],
  ])('%s as soon as it is too large, and not only when it is whole', async (_, source) => {
    const text = 'x'.repeat(100_000);
    const large = { text, list: [text, [text]] };
    await expect(renderTemplate(source, large)).rejects.toThrow('more than 8000000 characters and list items');
  });

  test.each(['now', 'today', 'March 4, 2026', '2026', '20261122', 'Sun Nov 22 23:10:11 2026', '12:00 +0100'])(
    'the date %j, which another day or machine reads differently',
    async (date) => {
      for (const filter of [
        'date: "%Y"',
        'date_to_xmlschema',
        'date_to_rfc822',
        'date_to_string',
        'date_to_long_string',
      ]) {
        await expect(renderTemplate(`{{ "${date}" | ${filter} }}`, {})).rejects.toMatchObject({
          code: 'template-failed',
        });
      }
    },
  );
});

describe('the variables of a template', () => {
  test.each([
    ['no braces', []],
    ['{{ reason }}', [{ path: ['reason'], line: 1, column: 4 }]],
    ['a\n  {{ steps[0].meta.ok }}', [{ path: ['steps', 0, 'meta', 'ok'], line: 2, column: 6 }]],
    ['{% assign x = a.b %}{{ x }}', [{ path: ['a', 'b'], line: 1, column: 15 }]],
    ['{% for s in steps %}{{ s.role }}{{ forloop.index }}{% endfor %}', [{ path: ['steps'], line: 1, column: 13 }]],
    [
      '{{ list[key].name | append: suffix }}',
      [
        { path: ['list'], line: 1, column: 4 },
        { path: ['key'], line: 1, column: 9 },
        { path: ['suffix'], line: 1, column: 29 },
      ],
    ],
    [
      '{% if a == "x" and b %}{% endif %}',
      [
        { path: ['a'], line: 1, column: 7 },
        { path: ['b'], line: 1, column: 20 },
      ],
    ],
  ])('%j', async (source, found) => {
    expect(await templateVariables(source)).toEqual(found);
  });
});
