import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCliRepository } from '../../helpers/cli.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const workflow = (name: string): string => `
name: ${name}
description: one role
roles:
  does: { description: does it, schema: { properties: { $status: { const: done } }, required: [$status] } }
graph:
  $START: { new: { role: does, prompt: go } }
  does: { done: { role: $END, prompt: over } }
`;

test('a push of a named thread names the child threads that it waits for and that stay here', async () => {
  const repository = createCliRepository();
  mkdirSync(join(repository.dir, '.uwf', 'workflows'), { recursive: true });
  for (const name of ['top', 'below']) {
    writeFileSync(join(repository.dir, '.uwf', 'workflows', `${name}.yaml`), workflow(name));
  }
  writeFileSync(
    join(repository.dir, '.uwf', 'config.yaml'),
    `agents:
  calls: { package: 'builtin:workflow', config: { workflow: below } }
  me: { package: 'builtin:human' }
roles: { top.does: calls, below.does: me }
`,
  );
  const server = createTemporaryRepository({ bare: true });
  repository.git('remote', 'add', 'origin', server.dir);
  const { thread } = (await repository.json(['thread', 'start', 'top', '-p', 'x'])) as { thread: string };
  expect(await repository.uwf(['thread', 'run', thread])).toMatchObject({ code: 4 });
  const { children } = (await repository.json(['thread', 'show', thread])) as { children: string[] };
  const [child = 'none'] = children;
  expect((await repository.uwf(['push', 'origin', thread])).stderr).toContain(`'uwf push origin ${child}'`);
  expect((await repository.uwf(['push', 'origin', child])).stderr).not.toContain('uwf push');
});
