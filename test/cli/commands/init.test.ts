import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shippedNames } from '../../../src/cli/init/shipped-workflows.ts';
import { createCliRepository } from '../../helpers/cli.ts';

test('init makes a configuration that configures nothing yet, and is harmless the second time', async () => {
  const { dir, json, uwf } = createCliRepository();
  expect(await json(['init'])).toEqual({ created: ['.uwf/config.yaml'], unchanged: [], configured: [], kept: [] });
  expect(existsSync(join(dir, '.uwf/workflows'))).toBe(true);
  expect(await json(['agent', 'list'])).toEqual([]);
  expect(await uwf(['init'])).toMatchObject({ code: 0, stdout: 'everything is there already\n' });
});

test.each(shippedNames())(
  'init --with %s brings a workflow that is valid, and whose agents are known',
  async (name) => {
    const { json, uwf, git } = createCliRepository();
    const { created } = (await json(['init', '--with', name])) as { created: string[] };
    expect(created).toContain(`.uwf/workflows/${name}.yaml`);
    expect(created.some((path) => path.endsWith('/config.yaml') && path !== '.uwf/config.yaml')).toBe(false);
    expect(await uwf(['workflow', 'validate', name, '--strict'])).toMatchObject({ code: 0 });
    for (const agent of (await json(['agent', 'list'])) as { name: string }[]) {
      expect(await uwf(['agent', 'show', agent.name])).toMatchObject({ code: 0 });
    }
    expect(git('for-each-ref')).toBe('');
    expect(await json(['init', '--with', name])).toMatchObject({ created: [], configured: [], kept: [] });
  },
);

test('a workflow whose role is a workflow brings that one too', async () => {
  const { json } = createCliRepository();
  expect(await json(['init', '--with', 'solve-issue'])).toMatchObject({
    created: expect.arrayContaining(['.uwf/workflows/solve-issue.yaml', '.uwf/workflows/develop.yaml']),
  });
});

test('lines are added to a configuration, and what it says otherwise is left', async () => {
  const { dir, json, write } = createCliRepository();
  write(
    '.uwf/config.yaml',
    '# ours\nagents:\n  me: { package: "builtin:human" } # who else\ndefaultAgent: me\nroles:\n  find-regression.judge: me\n',
  );
  expect(await json(['init', '--with', 'find-regression'])).toMatchObject({
    configured: expect.arrayContaining(['agents.find-regression-pick', 'roles.find-regression.picker']),
    kept: ['roles.find-regression.judge'],
  });
  const text = readFileSync(join(dir, '.uwf/config.yaml'), 'utf8');
  expect(text).toMatch(/^# ours\n/);
  expect(text).toContain('# who else');
  expect(await json(['agent', 'list'])).toContainEqual(
    expect.objectContaining({ name: 'me', isDefault: true, roles: ['find-regression.judge'] }),
  );
});

test('a file that is something else stops it before anything is written', async () => {
  const { dir, uwf, write } = createCliRepository();
  write('.uwf/workflows/find-regression.yaml', 'mine\n');
  expect(await uwf(['init', '--with', 'find-regression'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('.uwf/workflows/find-regression.yaml is there already'),
  });
  expect(existsSync(join(dir, '.uwf/config.yaml'))).toBe(false);
  expect(existsSync(join(dir, '.uwf/workflows/find-regression'))).toBe(false);
});

test('what cannot be prepared is said', async () => {
  expect(await createCliRepository({}, { bare: true }).uwf(['init'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bare'),
  });
  expect(await createCliRepository().uwf(['init', '--with', 'find-regresion'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean 'find-regression'?"),
  });
  expect(await createCliRepository({ '.uwf/config.yaml': 'a: [' }).uwf(['init', '--with', 'develop'])).toMatchObject({
    code: 2,
  });
});
