import { expect, test } from 'vitest';
import { createLoopRepository } from '../../helpers/cli.ts';

const top = `name: top
description: runs other workflows beside each other
blocks:
  both:
    branches: { one: { workflow: loop, prompt: a }, two: { workflow: loop, prompt: b } }
    join: all
    isolation: none
graph:
  $START: { new: { role: both, prompt: go } }
  both: { joined: { role: $END, prompt: over }, failed: { role: $END, prompt: bad, returnCode: 1 } }
`;

test('a workflow whose blocks run only other workflows needs no role of its own', async () => {
  const { uwf, lines, write } = createLoopRepository();
  write('.uwf/workflows/top.yaml', top);
  expect(await uwf(['workflow', 'validate', 'top'])).toMatchObject({ code: 0 });
  const [started] = await lines(['run', 'top', '-p', 'x']);
  const thread = String(started?.['thread']);
  expect(await uwf(['thread', 'show', thread, '--json=status'])).toMatchObject({ stdout: '{"status":"ended"}\n' });
  expect(await uwf(['thread', 'verify', thread])).toMatchObject({ code: 0 });
  expect(await uwf(['workflow', 'add', 'top'])).toMatchObject({ code: 0 });
  expect(await uwf(['workflow', 'show', 'top'])).toMatchObject({ code: 0 });
  write('.uwf/workflows/top.yaml', 'name: top\nroles: {}\ngraph: { $START: { new: { role: $END, prompt: x } } }\n');
  expect((await uwf(['workflow', 'validate', 'top'])).all).toContain('[no-roles]');
});
