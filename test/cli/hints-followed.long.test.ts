import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  cloneCliRepository,
  cliRepositoryOf,
  createCliRepository,
  createLoopRepository,
  loopReplies,
  scriptedConfig,
  twoWorkflow,
  type CliRepository,
  type CommandResult,
} from '../helpers/cli.ts';
import { commandsOfHints, wordsOf } from '../helpers/hints.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  temporaryRepositoryAt,
} from '../helpers/temporary-repository.ts';

/** A place in which a command has printed a hint. */
type Scene = {
  repository: CliRepository;
  said: CommandResult;
  /** Does what the hint asks for beside its commands, such as to install a program. */
  mend?: (repository: CliRepository) => void;
  /** Where the hint says that an answer is waited for: one. */
  answer?: string;
};

const asks = {
  ...loopReplies,
  writer: [{ suspend: 'Which language?', reply: loopReplies.writer[1] }],
  checker: [loopReplies.checker[1]],
};
const done = '---\na: 1\n---\nDone';
const prompt = ['-p', 'Write.'];

function program(...argv: string[]): string {
  return JSON.stringify({ agents: { it: { package: 'builtin:command', config: { argv } } }, defaultAgent: 'it' });
}

function createTwo(config: string): CliRepository {
  return createCliRepository({ '.uwf/workflows/two.yaml': twoWorkflow, '.uwf/config.yaml': config });
}

async function startedIn(repository: CliRepository, workflow: string): Promise<string> {
  return (await repository.uwf(['thread', 'start', workflow, ...prompt])).stdout.trim();
}

/** Runs a command after others, and gives what it says. */
async function scene(repository: CliRepository, ...commands: string[][]): Promise<Scene> {
  let said: CommandResult | undefined;
  for (const words of commands) said = await repository.uwf(words);
  if (said === undefined) throw new Error('a scene needs a command');
  return { repository, said };
}

/** A workflow whose one role is a thread of the loop. */
const callWorkflow = `name: call
description: calls
roles:
  caller: { description: c, systemPrompt: c, schema: { type: object } }
moderator: [{ from: __start__, to: caller }, { from: caller, to: __end__ }]
`;

/** A repository in which a thread waits for a child thread of the loop. */
function createCalling(config: string): CliRepository {
  const repository = createLoopRepository();
  repository.write('.uwf/workflows/call.yaml', callWorkflow);
  repository.write('.uwf/config.yaml', callingConfig(config));
  return repository;
}

function callingConfig(config: string): string {
  const of = JSON.parse(config) as { agents: object }; // as `scriptedConfig` writes it
  const loop = { package: 'builtin:workflow', config: { workflow: 'loop' } };
  return JSON.stringify({ ...of, agents: { ...of.agents, loop }, roles: { 'call.caller': 'loop' } });
}

const scenes: Record<string, () => Promise<Scene>> = {
  'a question': async () => ({
    ...(await scene(createLoopRepository(asks), ['run', 'loop', ...prompt])),
    answer: 'French',
  }),
  'a question of a child thread': async () => ({
    ...(await scene(createCalling(scriptedConfig(asks)), ['run', 'call', ...prompt])),
    answer: 'French',
  }),
  'a child thread that failed': async () => ({
    ...(await scene(createCalling(scriptedConfig({ writer: ['no'] })), ['run', 'call', ...prompt])),
    mend: ({ write }) =>
      write('.uwf/config.yaml', callingConfig(scriptedConfig({ ...loopReplies, checker: [loopReplies.checker[1]] }))),
  }),
  'a program that fails': async () => ({
    ...(await scene(createTwo(program('false')), ['run', 'two', ...prompt])),
    mend: ({ write }) => write('.uwf/config.yaml', program('true')),
  }),
  'a program that is missing': async () => ({
    ...(await scene(createTwo(program('no-such-program')), ['run', 'two', ...prompt])),
    mend: ({ write }) => write('.uwf/config.yaml', program('true')),
  }),
  'a program that is missing when a thread is resumed': async () => {
    const repository = createTwo(program('false'));
    await repository.uwf(['run', 'two', ...prompt]);
    const thread = ((await repository.json(['thread', 'list'])) as { thread: string }[])[0]!.thread;
    repository.write('.uwf/config.yaml', program('no-such-program'));
    return {
      ...(await scene(repository, ['thread', 'resume', thread])),
      mend: ({ write }) => write('.uwf/config.yaml', program('true')),
    };
  },
  'replies that are not accepted': async () => ({
    ...(await scene(createTwo(scriptedConfig({ first: ['no'], second: [done] })), ['run', 'two', ...prompt])),
    mend: ({ write }) => write('.uwf/config.yaml', scriptedConfig({ first: [done], second: [done] })),
  }),
  'a limit': async () => scene(createLoopRepository(), ['run', 'loop', ...prompt, '--limit', '1']),
  'an answer at a limit': async () => {
    const repository = createLoopRepository();
    await repository.uwf(['run', 'loop', ...prompt, '--limit', '3']);
    const thread = ((await repository.json(['thread', 'list'])) as { thread: string }[])[0]!.thread;
    return scene(repository, ['thread', 'resume', thread, '-p', 'Go on.']);
  },
  'a thread that was started': async () => scene(createLoopRepository(), ['thread', 'start', 'loop', ...prompt]),
  'a fork': async () => {
    const repository = createLoopRepository();
    const thread = await startedIn(repository, 'loop');
    return scene(repository, ['thread', 'step', thread], ['thread', 'fork', thread]);
  },
  'a fork of a question': async () => {
    const repository = createLoopRepository(asks);
    const thread = await startedIn(repository, 'loop');
    return { ...(await scene(repository, ['thread', 'run', thread], ['thread', 'fork', thread])), answer: 'French' };
  },
  'a cancelled thread that is resumed': async () => {
    const repository = createLoopRepository();
    const thread = await startedIn(repository, 'loop');
    return scene(repository, ['thread', 'cancel', thread], ['thread', 'resume', thread]);
  },
  'an ended thread that is resumed': async () => {
    const repository = createLoopRepository();
    const thread = await startedIn(repository, 'loop');
    return scene(repository, ['thread', 'run', thread], ['thread', 'resume', thread, ...prompt]);
  },
  'an ended thread that is poked': async () => {
    const repository = createLoopRepository();
    const thread = await startedIn(repository, 'loop');
    return scene(repository, ['thread', 'run', thread], ['thread', 'poke', thread, ...prompt]);
  },
  'a thread that is resumed and waits for nothing': async () => {
    const repository = createLoopRepository();
    return scene(repository, ['thread', 'resume', await startedIn(repository, 'loop'), ...prompt]);
  },
  'an interruption': async () => {
    const repository = createLoopRepository();
    const thread = await startedIn(repository, 'loop');
    return { repository, said: await repository.uwf(['thread', 'run', thread], { signal: AbortSignal.abort() }) };
  },
  'a thread that the remote still has': async () => {
    const repository = createLoopRepository();
    repository.git('remote', 'add', 'origin', createTemporaryRepository({ bare: true }).dir);
    const thread = await startedIn(repository, 'loop');
    return scene(
      repository,
      ['thread', 'run', thread],
      ['push', '--all'],
      ['fetch'],
      ['thread', 'rm', thread, '--force'],
    );
  },
  'a fetch of a question': async () => {
    const repository = createLoopRepository(asks);
    repository.git('remote', 'add', 'origin', createTemporaryRepository({ bare: true }).dir);
    repository.git('commit', '-qm', 'x', '--allow-empty');
    repository.git('push', '-q', 'origin', 'HEAD');
    await repository.uwf(['run', 'loop', ...prompt]);
    await repository.uwf(['push', '--all']);
    const config = scriptedConfig(asks);
    return {
      ...(await scene(
        cloneCliRepository(repository.git('remote', 'get-url', 'origin'), { '.uwf/config.yaml': config }),
        ['fetch'],
      )),
      answer: 'x',
    };
  },
  'a push of a thread that has gone on elsewhere': async () => {
    const repository = createLoopRepository();
    const { dir } = createTemporaryRepository({ bare: true });
    repository.git('remote', 'add', 'origin', dir);
    repository.git('commit', '-qm', 'x', '--allow-empty');
    repository.git('push', '-q', 'origin', 'HEAD');
    const thread = await startedIn(repository, 'loop');
    await repository.uwf(['push', '--all']);
    const other = cloneCliRepository(dir, { '.uwf/config.yaml': scriptedConfig(loopReplies) });
    await other.uwf(['fetch']);
    await other.uwf(['thread', 'step', thread]);
    await other.uwf(['push', '--all']);
    return scene(repository, ['thread', 'step', thread], ['push', '--all']);
  },
  'no such thread': async () => scene(createLoopRepository(), ['thread', 'show', '01KTWEWZ760000000000000000']),
  'a registration': async () => scene(createLoopRepository(), ['workflow', 'add', 'loop']),
  'no such command': async () => scene(createLoopRepository(), ['thread', 'lst']),
  'no threads': async () => scene(createLoopRepository(), ['thread', 'list']),
};

test.each(Object.keys(scenes))('each command that a hint names gets further: %s', async (name) => {
  const { repository, said, mend, answer } = await scenes[name]!();
  const commands = commandsOfHints(said.stderr);
  expect(commands, said.stderr).not.toEqual([]);
  expect(said.stderr.includes('<answer>'), said.stderr).toBe(answer !== undefined);
  for (const command of commands) {
    // Each is tried where the hint was printed, not where the one before it has been.
    const dir = createTemporaryFolder();
    cpSync(repository.dir, dir, { recursive: true });
    const copy = cliRepositoryOf(temporaryRepositoryAt(dir));
    mend?.(copy);
    const words = wordsOf(command).map((word) => (word === '<answer>' ? (answer ?? '') : word));
    if (command.startsWith('uwf run ') && !words.includes('-p')) words.push(...prompt);
    let result = await copy.uwf(words);
    if (said.stderr.includes('or says how much more'))
      result = await copy.uwf(wordsOf(commandsOfHints(result.stderr)[0] ?? ''));
    // 4 is further where it is another reason to wait.
    expect([0, 4], `${command}\n${result.all}`).toContain(result.code);
    if (result.code === 4) expect(result.stderr).not.toContain(said.stderr.split('\n').at(-3));
  }
});
