import { UwfError } from '../../errors.ts';
import { formatIdentity, parseIdentity, type ProcessIdentity } from '../../git/system/process-identity.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';

/** The variable that tells the commands of an agent where in a tree of runs they are. */
export const RUN_TREE = 'UWF_TREE';

/**
 * The place of a turn in a tree of runs: at the root a thread that no agent started, below it the threads that agents start
 * with uwf's commands or call as children.
 */
export type RunTree = {
  /** How many threads lie above the one that takes the turn. */
  depth: number;
  /** The greatest depth that threads below the turn may have. */
  maxDepth: number;
  root: ThreadId;
  /** The process that runs the root. */
  process: ProcessIdentity;
};

const written = /^(\d{1,16}):(\d{1,16}):([^:]+):(.+)$/;

/** Writes a place as a word, for {@link RUN_TREE}. */
export function formatRunTree({ depth, maxDepth, root, process }: RunTree): string {
  return `${depth}:${maxDepth}:${root}:${formatIdentity(process)}`;
}

/**
 * Reads the place of the turn whose agent runs this command; `undefined` if no agent does.
 * @throws {UwfError} `run-tree-unreadable` if the variable holds something else
 */
export function readRunTree(env: Readonly<Record<string, string | undefined>>): RunTree | undefined {
  const text = env[RUN_TREE];
  if (!text) return undefined;
  const [, depth, maxDepth, root = '', identity = ''] = written.exec(text) ?? [];
  const process = parseIdentity(identity);
  if (isThreadId(root) && process) return { depth: Number(depth), maxDepth: Number(maxDepth), root, process };
  throw new UwfError(`${RUN_TREE} has a value that uwf did not write, so it cannot tell how deep this run is nested`, {
    code: 'run-tree-unreadable',
    kind: 'environment',
    hint: `uwf sets ${RUN_TREE} for agents, who pass it on as it is; if no agent runs this command, unset it`,
  });
}
