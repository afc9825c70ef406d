import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { loadConfig } from '../../../src/engine/config/config.ts';
import { createEngine } from '../../../src/engine/engine.ts';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { resolveWorkflow } from '../../../src/workflow/load/resolve-workflow.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const golden = join(packageRoot(), 'fixtures', 'golden', 'contexts');

/**
 * Every context of `solve-issue` with `develop` as its child, as the agents get them. To take over a wanted change, run
 * with UPDATE_GOLDEN=1 and read the difference.
 */
test('the context of each role of solve-issue and develop, at each step', async () => {
  await prepareHashing();
  const { dir, open, git } = createTemporaryRepository();
  mkdirSync(join(dir, '.uwf', 'workflows'), { recursive: true });
  cpSync(join(packageRoot(), 'fixtures', 'workflows'), join(dir, '.uwf', 'workflows'), { recursive: true });
  cpSync(join(packageRoot(), 'fixtures', 'config', 'solve-issue'), join(dir, '.uwf'), { recursive: true });
  const repository = await open();
  const engine = createEngine({ repository, config: await loadConfig(repository), cwd: dir });
  const { definition } = await resolveWorkflow(repository, 'solve-issue', { cwd: dir });
  const { thread } = await engine.start({ definition, prompt: 'Lists should take a trailing comma (issue 12).' });

  const contexts = new Map<string, string>();
  const first = await engine.context(thread);
  const over = await engine.run(thread);
  expect(over).toMatchObject({ event: 'thread.ended' });
  const [child = ''] = (await engine.describe(thread)).children;
  for (const [name, id] of [
    ['solve-issue', thread],
    ['develop', child],
  ] as const) {
    const { head, steps } = await engine.describe(id);
    for (let number = 1; number <= steps; number += 1) {
      const commit = `${head}~${steps - number + 1}`;
      const { payload } = JSON.parse(git('show', `${commit}:step.json`)) as { payload: { role: string } };
      const told = `${git('show', `${commit}:prompt.md`)}\n`;
      if (name === 'solve-issue' && number === 1) expect(told).toBe(first.text);
      const file = `${name}-${String(number).padStart(2, '0')}-${payload.role}.md`;
      contexts.set(file, told.replaceAll(thread, '<parent>').replaceAll(child, '<child>'));
    }
  }
  for (const text of contexts.values()) {
    // Nothing is empty, and nothing was cut.
    expect(text).not.toMatch(/^# [^\n]*\n+# /m);
    expect(text).not.toMatch(/ cut\]| left out, |undefined|\[object Object\]/);
  }
  if (process.env['UPDATE_GOLDEN'] !== undefined) {
    rmSync(golden, { recursive: true, force: true });
    mkdirSync(golden, { recursive: true });
    for (const [name, text] of contexts) writeFileSync(join(golden, name), mask(text));
  }
  expect(readdirSync(golden).toSorted()).toEqual([...contexts.keys()].toSorted());
  for (const [name, text] of contexts) expect(mask(text), name).toBe(readFileSync(join(golden, name), 'utf8'));
});

/** The hash of the parent's state depends on the time; what it stands for does not. */
function mask(text: string): string {
  return text.replaceAll(/(?<=`uwf cas get )[0-9A-Z]{13}(?=`: where it stood)/g, '<state>');
}
