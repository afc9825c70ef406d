import { listThreads } from '../../engine/describe.ts';
import { threadStatuses } from '../../thread/thread-status.ts';
import type { Candidates } from '../command.ts';
import { configHere } from '../config-here.ts';
import type { CliContext } from '../context.ts';
import { readingContext } from '../engine-here.ts';
import { openToRead } from '../open-repository.ts';

/** Something that could be typed, and what it is. */
export type Candidate = { word: string; about: string };

/** More than that nobody chooses from. */
const MOST = 50;

/**
 * What can be typed where something of a kind belongs; nothing for files, which the shell knows better.
 *
 * @param thread the thread whose steps are meant; without one, those of the newest threads
 */
export async function listCandidates(cli: CliContext, candidates: Candidates, thread?: string): Promise<Candidate[]> {
  if (typeof candidates !== 'string') return candidates.map((word) => ({ word, about: '' }));
  switch (candidates) {
    case 'thread': {
      const threads = await listThreads(readingContext(await openToRead(cli)), {
        statuses: threadStatuses,
        limit: MOST,
      });
      return threads.map(({ thread, status, workflow, prompt }) => ({
        word: thread,
        about: `${status}  ${workflow}  ${prompt}`,
      }));
    }
    case 'step':
      return listSteps(cli, thread);
    case 'workflow':
      return listWorkflowNames(cli);
    case 'shipped-workflow': {
      const { shippedNames } = await import('../init/shipped-workflows.ts');
      return shippedNames().map((word) => ({ word, about: 'comes with uwf' }));
    }
    case 'remote': {
      const [{ listRemotes }, { location }] = await Promise.all([
        import('../../git/native/list-remotes.ts'),
        openToRead(cli),
      ]);
      const names = location === undefined ? [] : await listRemotes(location, cli.env);
      return names.map((word) => ({ word, about: 'a remote' }));
    }
    case 'agent': {
      const { agents } = await configHere(cli, await openToRead(cli));
      return Object.values(agents).map((agent) => ({ word: agent.name, about: agent.package }));
    }
    default:
      return [];
  }
}

async function listWorkflowNames(cli: CliContext): Promise<Candidate[]> {
  const [{ listWorkflowFiles }, { WORKFLOWS_PREFIX }] = await Promise.all([
    import('../../workflow/resolve-workflow.ts'),
    import('../../workflow/workflow-refs.ts'),
  ]);
  const repository = await openToRead(cli);
  const names = new Map<string, string>();
  for (const { name } of await repository.refs.list(WORKFLOWS_PREFIX))
    names.set(name.slice(WORKFLOWS_PREFIX.length), 'registered');
  for (const { name, file } of await listWorkflowFiles(repository, cli.cwd)) names.set(name, file);
  return [...names].map(([word, about]) => ({ word, about }));
}

/** Hashes, and of one thread numbers too; the newest first. */
async function listSteps(cli: CliContext, thread: string | undefined): Promise<Candidate[]> {
  const [{ getThread, listPointers }, { readSteps }, { statusOf }, { firstLine }] = await Promise.all([
    import('../../thread/find-thread.ts'),
    import('../../thread/read-steps.ts'),
    import('../../thread/meta-status.ts'),
    import('../../thread/commit-message.ts'),
  ]);
  const repository = await openToRead(cli);
  const pointers = thread === undefined ? await listPointers(repository) : [await getThread(repository, thread)];
  const found = new Map<string, Candidate>();
  for (const { head } of pointers.toReversed()) {
    if (found.size >= MOST) break;
    for (const { commit, text } of (await readSteps(repository, head, MOST)).steps.toReversed()) {
      const { number, role, meta } = commit.node;
      const about = `${number}  ${role} ${statusOf(meta) ?? ''}  ${firstLine(text)}`;
      if (thread !== undefined) found.set(String(number), { word: String(number), about });
      found.set(commit.hash, { word: commit.hash, about });
    }
  }
  return [...found.values()];
}
