import { describe, expect, test } from 'vitest';
import { mergeConfig } from '../../src/cli/init/prepare-files.ts';

const addition = `agents:
  fix: { package: "builtin:command", config: { argv: [node, fix.mjs] } } # mends
roles:
  fix.coder: fix
`;

/** What is left of a text when the lines of another are taken out of it, in order. */
function linesWithout(text: string, before: string): string[] {
  const rest = before.split('\n');
  return text.split('\n').filter((line) => (line === rest[0] ? (rest.shift(), false) : true));
}

describe('adding lines to a configuration changes no other line', () => {
  test.each([
    [
      'odd spaces, comments and quotes',
      '# mine\nagents:   # trailing\n    a:   { package: "builtin:human" }   # odd\n\n\ndefaultAgent:   "a"\n',
    ],
    ['sections at the end', 'defaultAgent: a\nagents:\n  a:\n    package: builtin:human\n    config: {}\n# the end\n'],
    [
      'a long text',
      'agents:\n  a:\n    package: "builtin:llm"\n    config:\n      x: |\n        one\n\n        two\n\nroles:\n  b: a\n',
    ],
    ['no section', '# only a comment\n'],
    ['no line end', 'agents:\n  a: { package: "builtin:human" }'],
    ['windows line ends', 'agents:\r\n  a: { package: "builtin:human" }\r\ndefaultAgent: a\r\n'],
    ['nothing', ''],
  ])('%s', async (_what, before) => {
    const { text, added, kept } = await mergeConfig(before, addition);
    expect({ added, kept }).toEqual({ added: ['agents.fix', 'roles.fix.coder'], kept: [] });
    const lines = linesWithout(text, before);
    expect(lines.join('\n')).toContain('fix: { package: "builtin:command", config: { argv: [ node, fix.mjs ] } }');
    expect(lines.length).toBeLessThanOrEqual(5);
    // Nothing is left to add.
    expect(await mergeConfig(text, addition)).toEqual({ text, added: [], kept: [] });
  });

  test.each([
    ['a section in braces', 'agents: { a: { package: "builtin:human" } }\n'],
    ['an empty section', 'agents:\nroles: {}\n'],
  ])('%s keeps its meaning', async (_what, before) => {
    const { text, added } = await mergeConfig(before, addition);
    expect(added).toEqual(['agents.fix', 'roles.fix.coder']);
    expect(await mergeConfig(text, addition)).toEqual({ text, added: [], kept: [] });
  });

  test('a section by an alias is for a person to write out', async () => {
    const text = 'x-all: &all { a: { package: "builtin:human" } }\nagents: *all\n';
    await expect(mergeConfig(text, addition)).rejects.toMatchObject({ code: 'usage' });
  });
});
