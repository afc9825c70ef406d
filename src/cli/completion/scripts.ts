import { COMPLETE } from './complete-word.ts';
import { UsageError } from '../usage-error.ts';

/** The shells that can be completed in. */
export const shells: readonly string[] = ['bash', 'zsh', 'fish'];

// Candidates come as lines of `word<tab>description`. Nothing, as the whole answer, leaves it to the shell's own files.
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

/**
 * The script that makes a shell complete uwf's commands.
 *
 * @throws {UsageError} for a shell that there is no script for
 */
export function completionScript(shell: string): string {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined)
    throw new UsageError(`there is no completion for '${shell}'`, `there is ${shells.join(', ')}`);
  return script;
}
