import { defineCommand, type Command } from '../command.ts';
import { completionScript, shells } from '../completion/scripts.ts';

export const command: Command = defineCommand({
  summary: 'print a script that completes commands in your shell',
  description: `The script asks uwf itself what fits, so that it stays right when uwf is updated and completes ids of threads too.`,
  arguments: [{ name: 'shell', summary: `one of ${shells.join(', ')}`, candidates: shells }],
  options: {},
  examples: [
    { command: 'eval "$(uwf completion bash)"', comment: 'in ~/.bashrc' },
    { command: 'eval "$(uwf completion zsh)"', comment: 'in ~/.zshrc, after compinit' },
    { command: 'uwf completion fish > ~/.config/fish/completions/uwf.fish', comment: 'once' },
  ],
  run({ args, cli }) {
    cli.stdout.write(completionScript(args.shell));
    return Promise.resolve();
  },
});
