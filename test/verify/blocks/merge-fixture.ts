import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/json.ts';
import { createFixture, type EngineFixture } from '../../engine/engine-fixture.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { definitionOf } from './block-fixture.ts';

/** What the planner writes into a file, which the work trees of the branches begin with. */
export const SECRET = 'acme_abcdefghijklmnopqrstuvwxyz012345';

const CODE = `case "$(cat)" in
*FILE=a*) sed -i 's/^1$/one a/' file ; echo a > new-a ;;
*FILE=b*) sed -i 's/^9$/nine b/' file ; echo b > new-b ;;
*FILE=c*) sed -i 's/^1$/one c/' file ;;
*) echo "$SECRET" > plan ;;
esac
printf -- '---\\nok: true\\n---\\nDone.\\n'
`;

/** A thread whose planner writes a file, and whose block merges what its branches did to another. */
export async function runMerge(keys: readonly string[]): Promise<EngineFixture & { thread: string }> {
  const argv = ['sh', '-c', CODE.replace('$SECRET', SECRET)];
  const agents = { sh: { name: 'sh', package: 'builtin:command', config: { argv } } };
  const fixture = await createFixture(
    { agents, defaultAgent: 'sh', roles: {} },
    { workTrees: createTemporaryFolder() },
  );
  const { engine, git, dir } = fixture;
  writeFileSync(join(dir, 'file'), [1, 2, 3, 4, 5, 6, 7, 8, 9, ''].join('\n'));
  git('add', 'file');
  git('commit', '-q', '-m', 'a file');
  const role: JsonObject = { description: 'works', systemPrompt: 'Work.', schema: { type: 'object' }, snapshot: 'on' };
  const definition = await definitionOf({
    name: 'build',
    isolation: 'worktree',
    roles: { planner: role, coder: role, closer: role },
    blocks: {
      work: {
        branches: Object.fromEntries(keys.map((key) => [key, { role: 'coder', prompt: `FILE=${key}` }])),
        isolation: 'worktree',
        join: 'all',
        merge: { order: 'key' },
      },
    },
    moderator: [
      { from: '__start__', to: 'planner', when: null },
      { from: 'planner', to: 'work', when: null },
      { from: 'work', to: 'closer', when: null },
      { from: 'closer', to: '__end__', when: null },
    ],
  });
  const { thread } = await engine.start({ definition, prompt: 'Build it.' });
  await engine.run(thread);
  return { ...fixture, thread };
}
