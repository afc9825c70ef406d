import { join } from 'node:path';
import { cloneCliRepository, createCliRepository, type CliRepository } from './cli.ts';
import { createTemporaryRepository } from './temporary-repository.ts';

type Agents = Record<string, unknown>;

const workflow = `name: release
description: writes, and asks a person
roles:
  writer: { description: w, schema: { properties: { $status: { const: written } }, required: [$status] } }
  approver: { description: a, schema: { properties: { $status: { enum: [granted, refused] } }, required: [$status] } }
graph:
  $START: { new: { role: writer, prompt: '{{ start.prompt }}' } }
  writer: { written: { role: approver, prompt: 'May it go out?' } }
  approver:
    granted: { role: $END, prompt: 'It may go out.' }
    refused: { role: $END, prompt: 'It stays.', returnCode: 1 }
`;

const written = '---\n$status: written\n---\nA text';

/** A writer that begins, and goes on when it is let. */
export function gatedWriter(folder: string): Agents {
  const [begun, go] = [join(folder, 'begun'), join(folder, 'go')];
  const script = `echo $$ >> ${begun}; until [ -e ${go} ]; do sleep 0.05; done; printf '%s\\n' '---' '$status: written' '---' 'A text'`;
  return { w: { package: 'builtin:command', config: { argv: ['sh', '-c', script] } } };
}

const person = { package: 'builtin:human' };
const scripted: Agents = {
  w: { package: 'builtin:scripted', config: { replies: { writer: [written] }, repeat: true } },
};

/** A remote, the repository of a person, and a clone for a worker with agents. */
export function createTeam(agents: Agents = scripted): { remote: string; laptop: CliRepository; box: CliRepository } {
  const { dir: remote } = createTemporaryRepository({ bare: true });
  const laptop = createCliRepository({ '.uwf/workflows/release.yaml': workflow });
  laptop.git('remote', 'add', 'origin', remote);
  laptop.git('add', '.');
  laptop.git('commit', '-qm', 'workflows');
  laptop.git('push', '-q', 'origin', 'main');
  const config = { agents: { me: person, ...agents }, defaultAgent: 'me', roles: { 'release.writer': 'w' } };
  const box = cloneCliRepository(remote);
  box.write('.git/uwf/config.yaml', JSON.stringify(config));
  return { remote, laptop, box };
}
