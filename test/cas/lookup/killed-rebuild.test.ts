import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { reindex, repositoryNodes } from '../../../src/cas/lookup.ts';
import { startTypeScript } from '../../helpers/run-typescript.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { commitNodes, textNode } from '../commit-of-nodes.ts';

const processes = 3;
const rounds = 4;

test('rebuilds of several processes at once that are killed leave nothing wrong and nothing unfindable', async () => {
  await prepareHashing();
  const temporary = createTemporaryRepository();
  const writer = await temporary.open();
  const texts = Array.from({ length: 90 }, (_, at) => `text ${at}`);
  const tips = new Map<string, Awaited<ReturnType<typeof commitNodes>>>();
  for (const [at, text] of texts.entries()) {
    const ref = `refs/threads/thread-${at % 3}`;
    const tip = tips.get(ref);
    const files = [{ path: 'output.md', node: textNode(text) }];
    tips.set(ref, await commitNodes(writer, { files, ref, parents: tip === undefined ? [] : [tip] }));
  }
  const script = join(import.meta.dirname, '../../faults/rebuild-lookup.ts');
  for (let round = 0; round < rounds; round += 1) {
    const children = await Promise.all(
      Array.from({ length: processes }, () =>
        startTypeScript(script, [temporary.dir], { env: isolatedGitEnvironment }),
      ),
    );
    await Promise.all(
      children.map(async ({ process, outcome }, at) => {
        await Promise.race([once(process.stdout!, 'data'), outcome]);
        // Anywhere in a rebuild, which takes some milliseconds here.
        await sleep(7 * at + 3 * round);
        process.kill('SIGKILL');
        expect(await outcome).toMatchObject({ signal: 'SIGKILL', stderr: '' });
      }),
    );
    const left = repositoryNodes(await temporary.open());
    for (const text of texts) expect((await left.find(textNode(text).hash))?.payload).toEqual({ text });
  }
  expect(await reindex(await temporary.open())).toEqual({ commits: texts.length, nodes: texts.length });
}, 60_000);
