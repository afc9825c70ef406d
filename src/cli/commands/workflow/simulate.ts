import type { NodeHash } from '../../../cas/hash.ts';
import { listThreads } from '../../../engine/describe/list-threads.ts';
import { simulateThread, type Simulated } from '../../../engine/verbs/simulate.ts';
import { UwfError } from '../../../errors.ts';
import type { Repository } from '../../../git/repository.ts';
import { getThread } from '../../../thread/find-thread.ts';
import type { ThreadPointer } from '../../../thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../workflow/definition.ts';
import { InvalidWorkflow } from '../../../workflow/source/source-map.ts';
import { loadDraft, resolveWorkflow, rootOf } from '../../../workflow/load/resolve-workflow.ts';
import { encodeWorkflow } from '../../../workflow/nodes.ts';
import { type Command, defineCommand, momentOption } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { plural } from '../../../text/wording.ts';
import { oneLine } from '../../output/text.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';

export const workflowSimulateCommand: Command = defineCommand({
  description: `Replays the decisions of finished threads by the rules of a workflow, and lists the threads in which another
role would have been next, with the first such turn. Replies are taken as they were: no agent is asked. The default is all
finished threads of the workflow with the same name.`,
  arguments: [{ name: 'workflow', summary: 'a file, a name or a hash', candidates: 'workflow' }],
  options: {
    against: {
      value: '<thread>',
      summary: 'only these threads; several with commas',
      isRepeatable: true,
      candidates: 'thread',
    },
    since: momentOption('only threads started since then: 30d, 2026-11-21'),
  },
  json: {
    workflow: "the workflow's name",
    hash: 'the definition that was tried',
    threads: 'how many threads were looked at',
    decisions: 'how many decisions were made again',
    diverging:
      'the threads that would have gone elsewhere: thread, afterSteps, lastStep, was, would (null: the rules cannot go on), rule, reason',
    unreadable: 'the threads that are corrupt and were passed over',
  },
  examples: [
    { command: 'uwf workflow simulate .uwf/workflows/develop.yaml --since 30d', comment: 'before committing a change' },
    { command: 'uwf workflow simulate develop --against 01KAM4,01KAM7', comment: 'two threads' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { definition, hash } = await findDefinition(cli, repository, args.workflow, out);
    const since = options.since && { sinceMs: options.since(cli.now()) };
    const pointers =
      options.against.length > 0
        ? await Promise.all(options.against.map((thread) => getThread(repository, thread)))
        : await findFinished(repository, { workflow: definition.name, ...since });
    const simulated: Simulated[] = [];
    const unreadable: string[] = [];
    for (const pointer of pointers) {
      try {
        simulated.push(await simulateThread(repository, pointer, definition));
      } catch (error) {
        if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
        unreadable.push(pointer.id);
      }
    }
    const diverging = simulated.flatMap(({ thread, divergence }) => (divergence ? [{ thread, ...divergence }] : []));
    const decisions = simulated.reduce((sum, { decisions: made }) => sum + made, 0);
    const result = { workflow: definition.name, hash, threads: simulated.length, decisions, diverging, unreadable };
    await out.result(result, () => describe(result, out));
    if (unreadable.length > 0)
      out.hint(`'uwf thread verify <thread>' tells what is wrong with ${unreadable.join(', ')}`);
  },
});

/** The definition to try; a file need not be one that could be run. */
async function findDefinition(
  cli: CliEnvironment,
  repository: Repository,
  workflow: string,
  out: Output,
): Promise<{ definition: WorkflowDefinition; hash: NodeHash }> {
  try {
    return await resolveWorkflow(repository, workflow, { cwd: cli.cwd });
  } catch (error) {
    // The first source is the file itself, before what it includes.
    const file = error instanceof InvalidWorkflow ? error.sources.keys().next().value : undefined;
    if (file === undefined) throw error;
    const definition = await loadDraft(file, rootOf(repository, file));
    out.hint(`it has mistakes and cannot be run as it is; 'uwf workflow validate ${workflow}' lists them`);
    return { definition, hash: encodeWorkflow(definition).hash };
  }
}

async function findFinished(
  repository: Repository,
  which: { workflow: string; sinceMs?: number },
): Promise<ThreadPointer[]> {
  const statuses = ['ended', 'failed', 'cancelled'] as const;
  const threads = await listThreads({ repository }, { ...which, statuses });
  return Promise.all(threads.toReversed().map(({ thread }) => getThread(repository, thread)));
}

type Diverging = Simulated['divergence'] & { thread: string };

function describe(
  { threads, decisions, diverging }: { threads: number; decisions: number; diverging: readonly Diverging[] },
  out: Output,
): string {
  const { paint } = out;
  const looked = `${decisions} decisions of ${plural(threads, 'thread')} were made again`;
  if (diverging.length === 0) return `${paint.good('no thread would have gone elsewhere')}; ${looked}`;
  const table = out.format<Diverging>(diverging, [
    { title: 'THREAD', cell: ({ thread }) => thread, paint: paint.id },
    { title: 'STEP', cell: ({ afterSteps }) => String(afterSteps + 1), align: 'right' },
    { title: 'WAS', cell: ({ was }) => was, paint: paint.name },
    { title: 'WOULD BE', cell: ({ would }) => would ?? 'failed', paint: paint.name },
    { title: 'RULE', cell: ({ rule }) => (rule === null ? '-' : String(rule + 1)), align: 'right' },
    { title: 'WHY', cell: ({ reason }) => oneLine(reason ?? '') },
  ]);
  return `${table}\n\n${diverging.length} of ${threads} threads would have gone elsewhere; ${looked}`;
}
