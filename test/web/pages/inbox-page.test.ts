import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listThreads } from '../../../src/engine/describe/list-threads.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { configOf, createFixture, statuses, workflow } from '../../engine/engine-fixture.ts';
import { runGit } from '../../helpers/temporary-repository.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';

const definition = workflow('once', { worker: statuses('done', 'refused') }, 'worker > end');

/** Removes an object from a repository, whose packs are made into single files for that. */
function removeObject(dir: string, id: string): void {
  const packs = join(dir, '.git/objects/pack');
  const contents = readdirSync(packs)
    .filter((name) => name.endsWith('.pack'))
    .map((name) => readFileSync(join(packs, name)));
  for (const name of readdirSync(packs)) rmSync(join(packs, name));
  for (const content of contents) runGit(dir, ['unpack-objects', '-q'], content);
  rmSync(join(dir, '.git/objects', id.slice(0, 2), id.slice(2)));
}

test.each([':suspend.json', '~1:start.json'])(
  'a thread whose head lacks %s is listed as corrupt, and the others can be answered in the inbox',
  async (path) => {
    const config = { ...configOf({ worker: { package: 'builtin:human', config: {} } }), foldPacks: false };
    const { engine, open, dir, git } = await createFixture(config);
    const threads: string[] = [];
    for (const prompt of ['Sound', 'Damaged']) {
      const { thread } = await engine.start({ definition, prompt });
      await engine.run(thread);
      threads.push(thread);
    }
    const [sound = '', damaged = ''] = threads;
    const { head } = await engine.describe(damaged);
    const object = git('rev-parse', `${head}${path}`);
    removeObject(dir, object);
    const inbox = await (await visitorOf(await open())).page('/inbox');
    const [first = '', ...others] = inbox.split('<article').slice(1);
    expect(first).toContain(`uwf thread resume ${sound} -p done`);
    expect(others).toEqual([]);
    const [corrupt] = await listThreads(readingContext(await open()), { statuses: ['corrupt'] });
    expect(corrupt).toMatchObject({ thread: damaged, reason: `object ${object} is not in the repository` });
  },
);
