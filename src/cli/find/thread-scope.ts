import type { NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import type { NodeSource } from '../../cas/node.ts';
import type { Repository } from '../../git/repository.ts';
import { threadCas, type ThreadCas } from '../../thread/thread-cas.ts';
import type { TextOption } from '../command-line/command.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { findHash } from './find-node.ts';

/** The option that says under which thread nodes are put and looked up. */
export const threadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'work in the store of this thread; by default $UWF_THREAD, else the whole repository',
  candidates: 'thread',
};

/** Where nodes are looked up. */
type NodeScope = {
  /** The store of the thread; `undefined` for the whole repository. */
  cas: ThreadCas | undefined;
  nodes: NodeSource;
  /** The hash that a text means: a whole one, or its first characters. */
  find: (text: string) => Promise<NodeHash>;
};

/**
 * The nodes that a command works on: those of the thread that is named or that an agent works in, else all.
 */
export function nodeScope(cli: CliEnvironment, repository: Repository, thread: string | undefined): NodeScope {
  const id = thread ?? (cli.env['UWF_THREAD'] || undefined);
  const cas = id === undefined ? undefined : threadCas(repository, id);
  const nodes = cas ?? repositoryNodes(repository);
  return {
    cas,
    nodes,
    find: (text) =>
      findHash(repository, text, async (hash) => cas === undefined || (await cas.find(hash)) !== undefined),
  };
}
