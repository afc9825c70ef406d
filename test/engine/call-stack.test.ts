import { describe, expect, test } from 'vitest';
import { readingContext } from '../../src/engine/engine-context.ts';
import { verifyThread } from '../../src/verify/verify-threads.ts';
import { repositoryNodes } from '../../src/cas/lookup.ts';
import { getNode } from '../../src/cas/node.ts';
import { parseNodeHash } from '../../src/cas/hash.ts';
import { runCommand } from '../helpers/cli.ts';
import { createFixture, reply, scripted, statuses, workflow } from './engine-fixture.ts';

const definitions = ['top', 'middle', 'bottom'].map((name) =>
  workflow(name, { worker: statuses('done') }, 'worker > end'),
);

describe('a call stack three workflows deep', () => {
  test('leads up and down from every thread, by ids, by hashes and in the graph, and verifies', async () => {
    const config = scripted({ worker: [reply('done', 'Dug.')] });
    for (const [caller, callee] of [
      ['top', 'middle'],
      ['middle', 'bottom'],
    ]) {
      config.agents[`to-${callee}`] = {
        name: `to-${callee}`,
        package: 'builtin:workflow',
        config: { workflow: callee! },
      };
      config.roles[`${caller}.worker`] = `to-${callee}`;
    }
    const { engine, repository, git, dir } = await createFixture(config, {
      resolveWorkflow: async (name) => definitions.find((definition) => definition.name === name)!,
    });
    const { thread: top } = await engine.start({ definition: definitions[0]!, prompt: 'Dig.' });
    await engine.run(top);
    const views = [await engine.describe(top)];
    for (let view = views[0]!; view.children[0] !== undefined; view = views.at(-1)!)
      views.push(await engine.describe(view.children[0]));
    expect(views.map(({ workflow: name, depth, parent }) => ({ name, depth, parent }))).toEqual([
      { name: 'top', depth: 0, parent: null },
      { name: 'middle', depth: 1, parent: views[0]!.thread },
      { name: 'bottom', depth: 2, parent: views[1]!.thread },
    ]);

    const nodes = repositoryNodes(repository);
    const payload = async (hash: unknown): Promise<Record<string, unknown>> =>
      (await getNode(nodes, parseNodeHash(String(hash)))).payload as Record<string, unknown>;
    // Down from the first step to the last end, and up again from there.
    const endHash = git('show', `${views[0]!.head}:index`)
      .split('\n')
      .find((line) => line.endsWith(' end.json'))!
      .slice(0, 13);
    let end = await payload(endHash);
    for (let depth = 0; depth < 2; depth++)
      end = await payload(((await payload(end['lastStep']))['childThreads'] as string[])[0]);
    let start = await payload(end['start']);
    expect(start).toMatchObject({ depth: 2, id: views[2]!.thread });
    for (let depth = 2; depth > 0; depth--) start = await payload(start['parentThread']);
    expect(start).toMatchObject({ depth: 0, id: top, parentThread: null });

    const graph = (await runCommand(['log', top, '--graph'], { cwd: dir })).stdout;
    expect(graph.match(/ start: /g)).toHaveLength(3);
    for (const { thread } of views) {
      // From every thread up to the first start, as git draws it.
      const lines = (await runCommand(['log', thread, '--graph'], { cwd: dir })).stdout.trim().split('\n').slice(1);
      const byGit = git('log', '--graph', '--format=%h', (await engine.describe(thread)).head).split('\n');
      expect(lines.map(rail)).toEqual(byGit.map(rail));
      expect(lines.at(-1)).toMatch(/^\* \S+ start: /);
      expect(await verifyThread(readingContext(repository), thread)).toMatchObject({ sound: true });
    }
  });
});

/** A line of a graph without what stands beside it. */
function rail(line: string): string {
  return /^[|*/\\ ]*/.exec(line)![0].trimEnd();
}
