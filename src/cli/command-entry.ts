import type { Command } from './command.ts';

/** A command before it is loaded: enough for the overview and for finding it. */
export type CommandEntry = {
  /** Absent for a command of one word. */
  noun?: string;
  verb: string;
  summary: string;
  /** Starts without what takes long to load, commander included. */
  isFast?: true;
  load: () => Promise<{ command: Command }>;
};
