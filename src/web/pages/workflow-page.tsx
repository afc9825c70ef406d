import { relative } from 'node:path';
import { isNodeHash, type NodeHash, prepareHashing } from '../../cas/hash.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { whyNoWorkflowName } from '../../workflow/check/validate-workflow.ts';
import type { BlockDefinition, WorkflowDefinition } from '../../workflow/definition.ts';
import { InvalidWorkflow } from '../../workflow/source/source-map.ts';
import { describeBranches, foldBranches, sayBlock } from '../../workflow/graph/render-graph.ts';
import { listWorkflowFiles, resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import { loadWorkflow } from '../../workflow/nodes.ts';
import {
  listVersions,
  listWorkflows,
  type RegisteredWorkflow,
  WorkflowNotFound,
} from '../../workflow/registry/find-workflow.ts';
import { stateOf } from '../live/live.ts';
import { Ago, type Html, Page, PageLink } from '../parts/page.tsx';
import { MAX_RUNS, readRuns, type Runs, RunsPanel, UsageSums, UsageTable, VersionsTable } from '../parts/runs.tsx';
import { PlainText } from '../parts/said-text.tsx';
import { WorkflowGraph } from '../parts/workflow-graph.tsx';
import type { Visit } from '../site.ts';

const MAX_VERSIONS = 20;

/** A workflow, by its name or the hash of a definition: its graph, roles and versions, and what came of its runs. */
export async function workflowPage({ site, nowMs }: Visit, text: string): Promise<Html> {
  const { engine } = site;
  const state = await stateOf(engine, 'threads');
  const found = await findShown(engine, text);
  const { name, hash, definition, problem, origin, runs } = found;
  const versions = await registered(engine, name);
  const roles = new UsageSums();
  for (const { facts } of runs.runs) {
    for (const [role, usage] of Object.entries(facts?.usageByRole ?? {})) roles.add(role, usage);
  }
  return (
    <Page site={site} title={name} live={{ topic: 'threads', state }}>
      <h1>{name}</h1>
      {definition && <p>{definition.description}</p>}
      <p class="facts">
        {origin && <span>{origin}</span>}
        {hash && (
          <span>
            <PageLink href={`/w/${hash}`}>{hash}</PageLink>
          </span>
        )}
      </p>
      {problem && <p class="refusal">{problem}</p>}
      {definition && (
        <section aria-labelledby="graph">
          <h2 id="graph">Graph</h2>
          <WorkflowGraph definition={definition} hrefOf={(role) => `#role-${encodeURIComponent(role)}`} />
        </section>
      )}
      {definition && <Roles definition={definition} />}
      {definition?.blocks && <Blocks blocks={definition.blocks} />}
      <RunsPanel runs={runs} name={name} nowMs={nowMs} />
      {roles.byCost().length > 0 && (
        <section aria-labelledby="usage">
          <h2 id="usage">What its roles used</h2>
          <UsageTable title="Role" rows={roles.byCost()} />
        </section>
      )}
      <VersionsTable versions={versions} runs={runs} nowMs={nowMs} />
    </Page>
  );
}

type ShownWorkflow = {
  name: string;
  hash: NodeHash | undefined;
  /** Absent where it cannot be read. */
  definition: WorkflowDefinition | undefined;
  problem?: string;
  /** Where the name leads; absent for a definition by its hash. */
  origin: string | undefined;
  runs: Runs;
};

/** Finds a workflow by what an address can name: a hash, or a name of a file, of the registry, or of a thread. Never a path. */
async function findShown(engine: EngineContext, text: string): Promise<ShownWorkflow> {
  const { repository, cwd } = engine;
  await prepareHashing();
  if (isNodeHash(text)) {
    const definition = await loadWorkflow(repository, text);
    const { runs, ...all } = await readRuns(engine, { workflow: definition.name });
    const own = runs.filter(({ facts }) => facts?.workflowHash === text);
    return { name: definition.name, hash: text, definition, origin: undefined, runs: { ...all, runs: own } };
  }
  const files = await listWorkflowFiles(repository, cwd);
  const { workflows } = await listWorkflows(repository);
  const file = files.find(({ name }) => name === text)?.file;
  const runs = await readRuns(engine, { workflow: text });
  if (file !== undefined || workflows.some(({ name }) => name === text)) {
    const origin = file === undefined ? 'registered' : relative(cwd, file);
    const resolved = await resolveWorkflow(repository, file ?? text, { cwd }).catch(asProblem);
    if (resolved instanceof InvalidWorkflow) {
      return { name: text, hash: undefined, definition: undefined, problem: resolved.message, origin, runs };
    }
    return { name: text, hash: resolved.hash, definition: resolved.definition, origin, runs };
  }
  const hash = runs.runs.find(({ facts }) => facts !== undefined)?.facts?.workflowHash;
  if (hash === undefined)
    throw new WorkflowNotFound(
      text,
      [],
      [...files, ...workflows].map(({ name }) => name),
    );
  return { name: text, hash, definition: await loadWorkflow(repository, hash), origin: 'only in threads', runs };
}

function asProblem(error: unknown): InvalidWorkflow {
  if (error instanceof InvalidWorkflow) return error;
  throw error;
}

/** The registered versions of a name, newest first; none where a name cannot be registered. */
async function registered({ repository }: EngineContext, name: string): Promise<RegisteredWorkflow[]> {
  return whyNoWorkflowName(name) === undefined ? listVersions(repository, name, MAX_VERSIONS) : [];
}

function Roles({ definition }: { definition: WorkflowDefinition }): Html {
  const roles = Object.entries(definition.roles);
  return (
    <section aria-labelledby="roles">
      <h2 id="roles">
        Roles <span class="count">{roles.length}</span>
      </h2>
      {roles.map(([name, { description, systemPrompt, schema, needs }]) => (
        <details class="file" id={`role-${name}`}>
          <summary>
            <strong>{name}</strong> <span class="quiet">{description}</span>
          </summary>
          <h3>What it is told</h3>
          <PlainText text={systemPrompt} />
          <h3>What it reports</h3>
          <PlainText text={JSON.stringify(schema, null, 2)} />
          {needs !== undefined && (
            <>
              <h3>What it needs of a machine</h3>
              <PlainText text={needs.join(', ')} />
            </>
          )}
        </details>
      ))}
    </section>
  );
}

/** Of more branches the page names the first; `uwf workflow show --json=blocks` has all. */
const MAX_BRANCHES_SHOWN = 50;

function Blocks({ blocks }: { blocks: Record<string, BlockDefinition> }): Html {
  const all = Object.entries(blocks);
  return (
    <section aria-labelledby="blocks">
      <h2 id="blocks">
        Blocks <span class="count">{all.length}</span>
      </h2>
      {all.map(([name, block]) => (
        <details class="file" id={`role-${name}`}>
          <summary>
            <strong>{name}</strong> <span class="quiet">{sayBlock(block)}</span>
          </summary>
          <ul>
            {foldBranches(
              describeBranches(block).map((branch) => `${branch.name}: ${branch.what}`),
              MAX_BRANCHES_SHOWN,
            ).map((line) => (
              <li>{line}</li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
}

type Row = { from: string[]; description: string; threads: number; newest: string | undefined };

/** The workflows of the repository: files, registered ones, and those that threads run. */
export async function workflowsPage({ site, nowMs }: Visit): Promise<Html> {
  const { engine } = site;
  const state = await stateOf(engine, 'threads');
  const rows = new Map<string, Row>();
  const rowOf = (name: string): Row => {
    const row = rows.get(name) ?? { from: [], description: '', threads: 0, newest: undefined };
    rows.set(name, row);
    return row;
  };
  for (const { name, file } of await listWorkflowFiles(engine.repository, engine.cwd)) {
    rowOf(name).from.push(relative(engine.cwd, file));
  }
  const { workflows, unreadable } = await listWorkflows(engine.repository);
  for (const { name, description } of workflows) Object.assign(rowOf(name), { description }).from.push('registered');
  for (const { name, problem } of unreadable) rowOf(name).from.push(problem.message);
  const threads = await listThreads(engine, { statuses: threadStatuses, limit: MAX_RUNS });
  for (const { workflow, startedAt } of threads) {
    if (workflow === '') continue;
    const row = rowOf(workflow);
    row.threads += 1;
    row.newest ??= startedAt;
  }
  const shown = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return (
    <Page site={site} title="Workflows" place="/w" live={{ topic: 'threads', state }}>
      <h1>Workflows</h1>
      {shown.length === 0 && (
        <p>
          There is no workflow yet. <code>uwf init --with find-regression</code> brings one that works as it is.
        </p>
      )}
      <ul class="threads">
        {shown.map(([name, { from, description, threads: count, newest }]) => (
          <li>
            <PageLink class="task" href={`/w/${encodeURIComponent(name)}`}>
              {name}
            </PageLink>
            {description !== '' && <p class="reason">{description}</p>}
            <p class="facts">
              {from.map((place) => (
                <span>{place}</span>
              ))}
              <span>{plural(count, 'thread')}</span>
              {newest && (
                <span>
                  newest <Ago at={newest} nowMs={nowMs} />
                </span>
              )}
            </p>
          </li>
        ))}
      </ul>
      {threads.length === MAX_RUNS && <p class="quiet">Of threads the newest {formatCount(MAX_RUNS)} are counted.</p>}
    </Page>
  );
}
