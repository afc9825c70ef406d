import { defineCommand, type Command } from '../command-line/command.ts';
import { COMPLETE } from '../command-line/words.ts';
import { UsageError } from '../errors/usage-error.ts';

/** The scripts by shell. Candidates are lines of `word<tab>description`. Without any, the shell completes its own files. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_uwf() {
  local IFS=$'\\n' line word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  for line in $(uwf ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _uwf uwf
`,
  zsh: `_uwf() {
  local -a lines
  lines=("\${(@f)$(uwf ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  lines=("\${(@)lines:#}")
  if (( \${#lines} == 0 )); then _files; return; fi
  lines=("\${(@)\${(@)lines//:/\\\\:}//$'\\t'/:}")
  _describe -V uwf lines
}
compdef _uwf uwf
`,
  fish: `function __uwf_complete
  set -l words (commandline -opc) (commandline -ct)
  uwf ${COMPLETE} $words[2..-1] 2>/dev/null
end
complete -c uwf -f -a '(__uwf_complete)'
complete -c uwf -n 'test -z "$(__uwf_complete)"' -F
`,
};

/** The shells that can be completed in. */
export const shells: readonly string[] = Object.keys(scripts);

export const command: Command = defineCommand({
  description: `The script asks uwf for the candidates, so it needs no update with uwf and completes ids of threads too.`,
  arguments: [{ name: 'shell', summary: `one of ${shells.join(', ')}`, candidates: shells }],
  examples: [
    { command: 'eval "$(uwf completion bash)"', comment: 'in ~/.bashrc' },
    { command: 'eval "$(uwf completion zsh)"', comment: 'in ~/.zshrc, after compinit' },
    { command: 'uwf completion fish > ~/.config/fish/completions/uwf.fish', comment: 'once' },
  ],
  async run({ args, cli }) {
    const script = Object.hasOwn(scripts, args.shell) ? scripts[args.shell] : undefined;
    if (script === undefined) {
      throw new UsageError(`there is no completion for '${args.shell}'`, `there is ${shells.join(', ')}`);
    }
    cli.stdout.write(script);
  },
});
