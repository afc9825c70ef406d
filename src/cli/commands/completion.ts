import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../git/system/process-identity.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';

export const shells: readonly string[] = ['bash', 'zsh', 'fish'];

export const completionCommand: Command = defineCommand({
  description: `The script asks uwf for the candidates, so it needs no update with uwf and completes ids of threads too.`,
  arguments: [{ name: 'shell', summary: `one of ${shells.join(', ')}`, candidates: shells }],
  examples: [
    { command: 'eval "$(uwf completion bash)"', comment: 'in ~/.bashrc' },
    { command: 'eval "$(uwf completion zsh)"', comment: 'in ~/.zshrc, after compinit' },
    { command: 'uwf completion fish > ~/.config/fish/completions/uwf.fish', comment: 'once' },
  ],
  async run({ args, cli }) {
    if (!shells.includes(args.shell)) {
      throw new UsageError(`there is no completion for '${args.shell}'`, `there is ${shells.join(', ')}`);
    }
    const script = readFileSync(join(packageRoot(), 'fixtures', 'completion', `uwf.${args.shell}`), 'utf8');
    cli.stdout.write(script);
  },
});
