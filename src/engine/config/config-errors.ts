import { AgentMissing } from '../../agent/agent-errors.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { FileRefused } from '../../git/system/files.ts';
import { nearestName } from '../../nearest-name.ts';

/** One mistake in a configuration file. */
export type ConfigMistake = {
  file: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** A sentence that names the thing: `unknown key 'agnets'; did you mean 'agents'?` */
  message: string;
};

/** Configuration files that are not what they have to be; every mistake in them is listed. */
export class ConfigInvalid extends UwfError {
  readonly mistakes: readonly ConfigMistake[];

  constructor(mistakes: readonly ConfigMistake[]) {
    const lines = mistakes.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`);
    super(lines.join('\n'), { code: 'config-invalid', kind: 'usage', hint: 'correct the file and try again' });
    this.mistakes = mistakes;
  }
}

/** A configuration file is there and cannot be read. */
export class ConfigUnreadable extends UwfError {
  constructor(file: string, cause: unknown) {
    const isRefused = cause instanceof FileRefused;
    const reason = isRefused ? `it ${cause.reason}` : messageOf(cause);
    super(`the configuration ${file} cannot be read: ${reason}`, {
      code: 'config-unreadable',
      kind: 'environment',
      hint: isRefused ? cause.hint : 'look at what lies there, and at its permissions',
      cause,
      facts: { file },
    });
  }
}

/** No agent of this name is configured on this machine. */
export class UnknownAgent extends UwfError {
  constructor(agent: string, known: readonly string[]) {
    const near = nearestName(agent, known);
    super(`no agent is called '${agent}' on this machine`, {
      code: 'unknown-agent',
      kind: 'usage',
      hint: near === undefined ? `there is ${known.join(', ') || 'none'}` : `did you mean '${near}'?`,
      facts: { agent },
    });
  }
}

/** The error that says that no agent is configured for a role, and which lines of which file would configure one. */
export function noAgentFor(workflow: string, role: string, file: string = '.uwf/config.yaml'): AgentMissing {
  return new AgentMissing(`no agent is configured on this machine for role '${role}' of workflow '${workflow}'`, {
    subject: `${workflow}.${role}`,
    hint: [
      `add these lines to ${file} (another agent as you like):`,
      '',
      'agents:',
      '  me: { package: "builtin:human" }',
      'roles:',
      `  ${workflow}.${role}: me`,
    ].join('\n'),
  });
}
