import { expect, test } from 'vitest';
import { createCliRepository } from '../../helpers/cli.ts';

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
  const repository = createCliRepository({
    '.uwf/workflows/top.yaml': workflow('top'),
    '.uwf/workflows/below.yaml': workflow('below'),
    '.uwf/config.yaml': `agents:
  calls: { package: 'builtin:workflow', config: { workflow: below } }
  me: { package: 'builtin:human' }
roles: { top.does: calls, below.does: me }
`,
  });
  repository.share();
  const thread = await repository.start('top', 'x');
  expect(await repository.uwf(['thread', 'run', thread])).toMatchObject({ code: 4 });
  const { children } = (await repository.json(['thread', 'show', thread])) as { children: string[] };
  const [child = 'none'] = children;
  expect((await repository.uwf(['push', 'origin', thread])).stderr).toContain(`'uwf push origin ${child}'`);
  expect((await repository.uwf(['push', 'origin', child])).stderr).not.toContain('uwf push');
});
