import { listThreads } from '../../../engine/describe.ts';
import { simulateThread, type Simulated } from '../../../engine/simulate.ts';
import type { NodeHash } from '../../../cas/hash.ts';
import { UwfError } from '../../../errors.ts';
import type { Repository } from '../../../git/repository.ts';
import { getThread, type ThreadPointer } from '../../../thread/find-thread.ts';
import type { WorkflowDefinition } from '../../../workflow/definition.ts';
import { InvalidWorkflow } from '../../../workflow/diagnostic.ts';
import { encodeWorkflow } from '../../../workflow/encode-workflow.ts';
import { loadDraft } from '../../../workflow/load-draft.ts';
import { resolveWorkflow, rootOf } from '../../../workflow/resolve-workflow.ts';
import { defineCommand, type Command } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { readingContext } from '../../engine-here.ts';
import { parseMoment } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import type { Output } from '../../output/output.ts';
import { formatTable } from '../../output/table.ts';
import { oneLine } from '../../output/width.ts';

export const command: Command = defineCommand({
  summary: 'tell which threads a change would route otherwise',
  description: `Decides every turn of finished threads again by the rules of a workflow, and lists the threads in which another role would
have had its turn, with the first such turn. What the roles said is taken as it was: no agent is asked. Without --against it
is all finished threads of the workflow with the same name.`,
  arguments: [{ name: 'workflow', summary: 'a file, a name or a hash', candidates: 'workflow' }],
  options: {
    against: {
      value: '<thread>',
      summary: 'only these threads; several with commas',
      isRepeatable: true,
      candidates: 'thread',
    },
    since: { value: '<when>', summary: 'only threads started since then: 30d, 2026-11-21', parse: parseMoment },
  },
  json: {
    shape: 'object',
    fields: {
      workflow: "the workflow's name",
      hash: 'the definition that was tried',
      threads: 'how many threads were looked at',
      decisions: 'how many decisions were made again',
      diverging:
        'the threads that would have gone elsewhere: thread, afterSteps, lastStep, was, would (null: the rules cannot go on), rule, reason',
      unreadable: 'the threads that are corrupt and were passed over',
    },
  },
  examples: [
    { command: 'uwf workflow simulate .uwf/workflows/develop.yaml --since 30d', comment: 'before committing a change' },
    { command: 'uwf workflow simulate develop --against 01KAM4,01KAM7', comment: 'two threads' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
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
    await out.result(result, () => describe(result, out, cli.stdout));
    if (unreadable.length > 0)
      out.hint(`'uwf thread verify <thread>' tells what is wrong with ${unreadable.join(', ')}`);
  },
});

/** The definition to try; a file need not be one that could be run. */
async function findDefinition(
  cli: CliContext,
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
  const threads = await listThreads(readingContext(repository), { ...which, statuses });
  return Promise.all(threads.toReversed().map(({ thread }) => getThread(repository, thread)));
}

type Diverging = Simulated['divergence'] & { thread: string };

function describe(
  { threads, decisions, diverging }: { threads: number; decisions: number; diverging: readonly Diverging[] },
  { paint }: Output,
  stream: Parameters<typeof formatTable>[3],
): string {
  const looked = `${decisions} decisions of ${threads} ${threads === 1 ? 'thread' : 'threads'} were made again`;
  if (diverging.length === 0) return `${paint.good('no thread would have gone elsewhere')}; ${looked}`;
  const table = formatTable<Diverging>(
    diverging,
    [
      { title: 'THREAD', cell: ({ thread }) => thread, paint: paint.id },
      { title: 'STEP', cell: ({ afterSteps }) => String(afterSteps + 1), align: 'right' },
      { title: 'WAS', cell: ({ was }) => was, paint: paint.name },
      { title: 'WOULD BE', cell: ({ would }) => would ?? 'failed', paint: paint.name },
      { title: 'RULE', cell: ({ rule }) => (rule === null ? '-' : String(rule + 1)), align: 'right' },
      { title: 'WHY', cell: ({ reason }) => oneLine(reason ?? '') },
    ],
    paint,
    stream,
  );
  return `${table}\n\n${diverging.length} of ${threads} threads would have gone elsewhere; ${looked}`;
}
