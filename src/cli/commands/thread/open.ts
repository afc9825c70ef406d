import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { UwfError } from '../../../errors.ts';
import { userVariable } from '../../../git/repository/known-variables.ts';
import { noBase } from '../../../thread/code/thread-code.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { findStart } from '../../../thread/thread-chain.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { threadArgument } from '../../command-line/shared-arguments.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { canAsk, type CliEnvironment } from '../../process/cli-environment.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';

export const threadOpenCommand: Command = defineCommand({
  description: `Opens the thread's own work tree in your editor ($VISUAL, $EDITOR, or core.editor of your own git
configuration), or in a shell ($SHELL). A work tree that is not here is made with the files that the newest step left, or from the thread's base. Without a
terminal it prints the path.`,
  arguments: [threadArgument],
  options: {
    editor: { summary: 'open it in the editor', conflicts: ['shell', 'print'] },
    shell: { summary: 'start a shell in it; the default if no editor is configured', conflicts: ['print'] },
    print: { summary: 'only print its path; the default without a terminal' },
  },
  json: { thread: 'its id', folder: 'its work tree' },
  examples: [
    { command: 'uwf thread open 01KAM4', comment: 'in the editor' },
    { command: 'uwf thread open 01KAM4 --shell', comment: 'to try out what it did' },
    { command: 'cd "$(uwf thread open 01KAM4 --print)"', comment: 'in this shell' },
  ],
  async run({ args, options, cli, out }) {
    const asked = (['editor', 'shell', 'print'] as const).find((name) => options[name]);
    const isTerminal = canAsk(cli) && cli.stdout.isTTY === true && !out.isJson;
    if (asked !== undefined && asked !== 'print' && !isTerminal) {
      throw new UsageError(`--${asked} needs a terminal`, '--print prints the path');
    }
    const repository = await openForWriting(cli);
    const { id: thread, head } = await getThread(repository, args.thread);
    const start = await findStart(repository, head);
    if (start?.node.base === undefined) throw noBase(thread);
    await agreeToGit(cli, repository, 'files');
    const engine = await openEngine(cli, repository);
    const folder = await engine.openWorkTree(thread);
    if (!isTerminal || asked === 'print') {
      await out.result({ thread, folder }, () => folder);
      return;
    }
    const editor = asked === 'shell' ? undefined : editorOf(cli);
    if (asked === 'editor' && editor === undefined) throw noEditor();
    out.note(folder);
    await openIn(editor ?? shellOf(cli), editor === undefined ? [] : [folder], folder, cli);
  },
});

/** The repository's own `core.editor` is ignored: its author could name any program. */
function editorOf({ env }: CliEnvironment): string | undefined {
  const candidates = [env['VISUAL'], env['EDITOR'], userVariable('core.editor', env)];
  return candidates.find((command) => command?.trim());
}

function shellOf({ env }: CliEnvironment): string {
  return `exec "${(env['SHELL'] || '/bin/sh').replaceAll(/["\\$`]/g, '\\$&')}"`;
}

/** Runs a shell command at the terminal of this process, which leaves signals from the keyboard to it. */
async function openIn(command: string, words: readonly string[], cwd: string, { env }: CliEnvironment): Promise<void> {
  const child = spawn('sh', ['-c', `${command} "$@"`, 'sh', ...words], {
    cwd,
    env: { ...env, PWD: cwd },
    stdio: 'inherit',
  });
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    await once(child, 'close');
  } finally {
    process.removeListener('SIGINT', ignore);
  }
}

function noEditor(): UwfError {
  return new UwfError('no editor is configured', {
    code: 'no-editor',
    kind: 'environment',
    hint: "set $VISUAL or $EDITOR, or 'git config --global core.editor <editor>'",
  });
}
