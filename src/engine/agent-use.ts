import type { AgentBinding } from '../agent/agent-binding.ts';

/** An agent, and where it would run. */
export type AgentUse = {
  binding: AgentBinding;
  /** The folder that it works in. */
  cwd: string;
  /** Where its packages are looked for. */
  root: string;
  /** True where `cwd` holds what an agent left: the files that its command line names are then those of `root`. */
  isLeft: boolean;
  /** True where git records the files that its turn leaves, with the filters that it is configured to. */
  isRecorded: boolean;
};

/**
 * Lets agents run: told of them before anything is loaded, run, stored or paid for them, of all that a command can come
 * to need at once where they can be known.
 * @throws what ends the command, where they may not
 */
export type Admit = (uses: readonly AgentUse[]) => Promise<void>;
