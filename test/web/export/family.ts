import { createCliRepository, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';

const role = '{ description: d, systemPrompt: s, schema: { type: object } }';

const replies = {
  worker: [
    '---\n{}\n---\nThe *tulip* tulips-in-amsterdam-1638 blooms: [file](/etc/passwd), [near](notes.md), ' +
      '[far](http://roses.example/), [other](/t/01KAM4QG7M00000000000000AA), [script](javascript:alert(1)).',
  ],
  closer: ['---\n{}\n---\nClosed by the caller.'],
};

const config = {
  agents: {
    script: { package: 'builtin:scripted', config: { replies, repeat: true } },
    below: { package: 'builtin:workflow', config: { workflow: 'inner' } },
  },
  roles: { boss: 'below' },
};

/** A thread that called a child, and a stranger. */
export async function createFamily(): Promise<{
  uwf: CliRepository['uwf'];
  open: CliRepository['open'];
  threads: { caller: string; child: string; stranger: string };
}> {
  const repository = createCliRepository({
    '.uwf/workflows/inner.yaml': `name: inner
description: plants
roles: { worker: ${role} }
moderator: [{ from: __start__, to: worker }, { from: worker, to: __end__ }]
`,
    '.uwf/workflows/outer.yaml': `name: outer
description: lets plant
roles: { boss: ${role}, closer: ${role} }
moderator: [{ from: __start__, to: boss }, { from: boss, to: closer }, { from: closer, to: __end__ }]
`,
    '.uwf/config.yaml': scriptedConfig(replies, config),
  });
  const { uwf, json, open } = repository;
  await uwf(['run', 'outer', '-p', 'Plant roses.']);
  await uwf(['run', 'inner', '-p', 'a secret garden']);
  // The fields of the list that are read here.
  const threads = (await json(['thread', 'list', '--all'])) as { thread: string; workflow: string; prompt: string }[];
  const idOf = (workflow: string, prompt: string): string =>
    threads.find((each) => each.workflow === workflow && each.prompt === prompt)?.thread ?? '';
  return {
    uwf,
    open,
    threads: {
      caller: idOf('outer', 'Plant roses.'),
      child: idOf('inner', 'Plant roses.'),
      stranger: idOf('inner', 'a secret garden'),
    },
  };
}
