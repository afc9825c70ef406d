import { formatUsage } from '../../agent/format-usage.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { countSteps, findTurnOf, type FoundTurn, startCommitOf } from '../../engine/describe/find-turn.ts';
import { formatCount, formatDuration, plural } from '../../text/wording.ts';
import { iso } from '../../time/clock.ts';
import { branchesInMeta } from '../../schema/built-in/thread-step.ts';
import { firstLine } from '../../thread/commit-message.ts';
import { readRefused, type RefusedReply } from '../../thread/exchange.ts';
import { getThread } from '../../thread/find-thread.ts';
import { scanOneCommit } from '../../thread/secret-scan.ts';
import { type PartKind, readTrace, type ToolCallDraft, type Trace, type TracedTurn } from '../../thread/step-trace.ts';
import { agentName } from '../../thread/step-view.ts';
import { readTextAt, timeOfCommit } from '../../thread/thread-commit.ts';
import { stateOf } from '../live/live.ts';
import { FileChangesPanel, readStepChanges, type StepChanges } from '../parts/file-changes.tsx';
import { Ago, type Html, Meta, Page, PageLink, SecretMark } from '../parts/page.tsx';
import { PlainText, ReplyText } from '../parts/said-text.tsx';
import { readReplyAt, storyAddress, textAddress } from '../parts/story.tsx';
import { ForkForm } from '../parts/thread-acts.tsx';
import type { Visit } from '../site.ts';

const PAGE_TURNS = 20;
const MAX_CHILDREN = 50;

/** A step, or a turn that ended in a suspension, by its number or the beginning of its hash: what it was told, said and did. */
export async function stepPage(visit: Visit, id: string, text: string): Promise<Html> {
  const { site, url, nowMs } = visit;
  const { engine } = site;
  const { repository } = engine;
  const pointer = await getThread(repository, id);
  // A step does not change, but it is redacted or removed with its thread, and gets neighbours.
  const state = await stateOf(engine, pointer.id);
  const found = await findTurnOf(repository, pointer, text);
  const { commit } = found;
  const count = await countSteps(repository, pointer.head);
  const start = await startCommitOf(repository, pointer);
  const prompt = await readTextAt(repository, commit, 'prompt.md');
  const reply = await readReplyAt(repository, commit);
  const refused = await readRefused(repository, commit);
  const trace = await readTrace(repository, commit, {
    limit: PAGE_TURNS,
    before: url.searchParams.get('turns') ?? undefined,
  });
  const changes = commit.kind === 'step' ? await readStepChanges(engine, commit) : undefined;
  const secrets = site.secrets && (await scanOneCommit(repository, site.secrets.scan, commit.id));
  const all = `uwf step read ${commit.hash}`;
  const name = nameOf(found);
  return (
    <Page site={site} title={`${name} · ${pointer.id}`} live={{ topic: pointer.id, state }}>
      <StepLinks found={found} count={count} task={firstLine(await readTextAt(repository, start, 'prompt.md'))} />
      <h1>{name}</h1>
      <Facts found={found} nowMs={nowMs} agent={await agentName(repository, start, commit)} />
      {commit.kind === 'suspend' && <p class="reason">{commit.node.reason}</p>}
      {secrets && <SecretMark thread={pointer.id} secrets={secrets} />}
      <section aria-labelledby="reply">
        <h2 id="reply">{commit.kind === 'step' ? 'Reply' : 'What it said'}</h2>
        {commit.kind === 'step' && <Meta meta={commit.node.meta} />}
        {reply.trim() === '' ? (
          <p class="quiet">Nothing.</p>
        ) : (
          <ReplyText text={reply} all={all} whole={textAddress(pointer.id, commit.hash)} />
        )}
      </section>
      {changes && <Changes changes={changes} />}
      {refused.length > 0 && <Attempts refused={refused} all={`uwf step show ${commit.hash} --json=refused`} />}
      <section aria-labelledby="prompt">
        <h2 id="prompt">Prompt</h2>
        <details>
          <summary>What the agent was told, {formatCount(prompt.length)} characters</summary>
          <PlainText text={prompt} all={`${all} --prompt`} />
        </details>
      </section>
      <section aria-labelledby="turns">
        <h2 id="turns">
          Turns <span class="count">{trace ? formatCount(trace.session.turns.length) : ''}</span>
        </h2>
        {trace ? (
          <TracePanel trace={trace} step={commit.hash} address={url.pathname} />
        ) : (
          <p class="quiet">The agent left no trace.</p>
        )}
      </section>
      <Keep visit={visit} found={found} />
    </Page>
  );
}

function nameOf({ commit }: FoundTurn): string {
  const { role } = commit.node;
  return commit.kind === 'step' ? `${commit.node.number}. ${role}` : `${role}, suspended`;
}

type LinkProps = { found: FoundTurn; count: number; task: string };

/** The ways to the steps around it and to its place in the story. */
function StepLinks({ found: { thread, commit }, count, task }: LinkProps): Html {
  const previous = commit.node.totals.steps;
  const anchor = commit.kind === 'step' ? `step-${commit.node.number}` : commit.hash;
  const next = previous + (commit.kind === 'step' ? 2 : 1);
  return (
    <nav class="steps" aria-label="Steps">
      <PageLink href={storyAddress(thread.id, count, previous + 1, anchor)}>
        ↑ {task === '' ? thread.id : task}
      </PageLink>
      {previous > 0 && (
        <PageLink rel="prev" href={`/t/${thread.id}/${previous}`}>
          ← Step {previous}
        </PageLink>
      )}
      {next <= count && (
        <PageLink rel="next" href={`/t/${thread.id}/${next}`}>
          Step {next} →
        </PageLink>
      )}
    </nav>
  );
}

function Facts({ found: { thread, commit }, nowMs, agent }: { found: FoundTurn; nowMs: number; agent: string }): Html {
  const { rule, usage, agentVersion } = commit.node;
  const step = commit.kind === 'step' ? commit.node : undefined;
  const used = formatUsage(usage);
  // Its branches are in the order in which the step took in their ends.
  const branches = step && branchesInMeta(step.meta);
  return (
    <>
      <p class="facts">
        {agent !== '' && <span>{agentVersion === undefined ? agent : `${agent} (${agentVersion})`}</span>}
        <Ago at={iso(timeOfCommit(commit))} nowMs={nowMs} />
        {step && <span>took {formatDuration(step.completedAtMs - step.startedAtMs)}</span>}
        {used !== '' && <span>{used}</span>}
        <span>{rule === null ? 'chosen by a person' : `chosen by rule ${rule + 1}`}</span>
        {commit.kind === 'suspend' && <span>cause: {commit.node.cause}</span>}
        {step?.stopReason && <span>stopped: {step.stopReason}</span>}
      </p>
      {step?.replaces && (
        <p class="facts">
          <span>takes the place of step {step.replaces}</span>
        </p>
      )}
      {step && step.childThreads.length > 0 && (
        <p class="facts">
          <span>
            ran{' '}
            {step.childThreads.slice(0, MAX_CHILDREN).map((end, index) => (
              <>
                {index > 0 && ', '}
                <PageLink href={`/t/${end}`}>{branches?.[index]?.key ?? 'a child thread'}</PageLink>
              </>
            ))}
            {step.childThreads.length > MAX_CHILDREN && ` and ${step.childThreads.length - MAX_CHILDREN} more`}
          </span>
        </p>
      )}
      {step?.compact && (
        <p class="facts">
          <span>carries a summary of the steps before: uwf thread context {thread.id}</span>
        </p>
      )}
    </>
  );
}

function Changes({ changes }: { changes: StepChanges }): Html {
  const { base, files, others, isWhole } = changes;
  const comparedWith =
    'step' in base ? `step ${base.step} left` : `the commit ${base.commit.slice(0, 12)} has, which was checked out`;
  return (
    <section aria-labelledby="files">
      <h2 id="files">
        Files <span class="count">{files.length + others}</span>
      </h2>
      <p class="quiet">
        Compared with what {comparedWith}.{!isWhole && ' Some files could not be recorded.'}
      </p>
      <FileChangesPanel changes={changes} />
    </section>
  );
}

function Attempts({ refused, all }: { refused: readonly RefusedReply[]; all: string }): Html {
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">
        Not accepted <span class="count">{refused.length}</span>
      </h2>
      {refused.map(({ attempt, errors, text, usage }, index) => (
        <details class="attempt">
          <summary>
            Reply {index + 1}: {errors.join('; ')}
          </summary>
          <p class="facts">
            <span>{attempt}</span>
            <span>{formatUsage(usage)}</span>
          </p>
          <PlainText text={text} all={all} />
        </details>
      ))}
    </section>
  );
}

/** What names the step elsewhere, and how to go on from it in another way. */
function Keep({ visit, found: { thread, commit } }: { visit: Visit; found: FoundTurn }): Html {
  return (
    <section class="keep" aria-labelledby="keep">
      <h2 id="keep">Take it from here</h2>
      <p>
        <label for="commit">Commit</label>
        <input id="commit" class="id" readonly value={commit.id} />
      </p>
      <p>
        <label for="hash">{commit.kind === 'step' ? 'Step' : 'Suspension'}</label>
        <input id="hash" class="id" readonly value={commit.hash} />
      </p>
      {commit.kind === 'step' &&
        (visit.site.actions ? (
          <ForkForm visit={visit} thread={thread.id} step={commit.node.number} />
        ) : (
          <p class="quiet">
            A fork goes on from here:{' '}
            <code>
              uwf thread fork {thread.id} --at {commit.node.number}
            </code>
          </p>
        ))}
    </section>
  );
}

const titles: Readonly<Record<PartKind, string>> = {
  thought: 'Thought',
  plan: 'Plan',
  refusal: 'Kept from something',
  note: 'Note',
};

/** Longer inputs, results and texts are cut. */
const MAX_TEXT = 20_000;
/** Of all turns together. */
const MAX_PAGE = 1_000_000;

type TraceProps = { trace: Trace; step: NodeHash; address: string };

/** The turns of the model behind a step, folded: what it was told, thought and said, and the tools that it called. */
function TracePanel({ trace: { session, turns }, step, address }: TraceProps): Html {
  const total = session.turns.length;
  const first = turns[0]?.number ?? 1;
  const last = turns.at(-1)?.number ?? total;
  const room = { left: MAX_PAGE, isCut: false };
  const shown = turns.map((turn) => <Turn turn={turn} total={total} room={room} />);
  return (
    <>
      {last < total && (
        <p>
          Turns {first} to {last} of {formatCount(total)}. <PageLink href={`${address}#turns`}>Newest turns</PageLink>
        </p>
      )}
      {shown}
      {first > 1 && (
        <p>
          <PageLink href={`${address}?turns=${first}#turns`}>Earlier turns</PageLink>
        </p>
      )}
      {room.isCut && (
        <p class="quiet">
          Long texts are cut. All of them: <code>uwf step turns {step}</code>
        </p>
      )}
    </>
  );
}

type Room = { left: number; isCut: boolean };

function Turn({ turn, total, room }: { turn: TracedTurn; total: number; room: Room }): Html {
  const { number, input, output, parts, toolCalls, tokens, costUsd, latencyMs } = turn;
  const usage = {
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    turns: 0,
    ...(costUsd !== undefined && { costUsd }),
  };
  const failed = toolCalls.filter(({ isError }) => isError).length;
  return (
    <details class="traced" id={`turn-${number}`}>
      <summary>
        Turn {number} of {formatCount(total)}{' '}
        <span class="quiet">
          {formatDuration(latencyMs)}
          {toolCalls.length > 0 && `, ${plural(toolCalls.length, 'tool call')}`}
          {failed > 0 && `, ${failed} failed`}, {formatUsage(usage)}
        </span>
      </summary>
      <Told title="Told" text={input} room={room} />
      {parts.map(({ kind, text }) => (
        <Told title={titles[kind]} text={text} room={room} />
      ))}
      <Told title="Said" text={output} room={room} />
      {toolCalls.map((call) => (
        <Call call={call} room={room} />
      ))}
    </details>
  );
}

function Told({ title, text, room }: { title: string; text: string; room: Room }): Html | null {
  if (text.trim() === '') return null;
  return (
    <>
      <h3>{title}</h3>
      <Cut text={text} room={room} />
    </>
  );
}

function Call({ call, room }: { call: ToolCallDraft; room: Room }): Html {
  const { name, arguments: given, result, isError, durationMs } = call;
  return (
    <details class={isError ? 'call failed' : 'call'}>
      <summary>
        {name}{' '}
        <span class="quiet">
          {isError && 'failed, '}
          {formatDuration(durationMs)}
        </span>
      </summary>
      <h3>Given</h3>
      <Cut text={given} room={room} />
      <h3>{isError ? 'Failed' : 'Result'}</h3>
      <Cut text={result} room={room} />
    </details>
  );
}

function Cut({ text, room }: { text: string; room: Room }): Html {
  const shown = text.slice(0, Math.min(MAX_TEXT, room.left));
  room.left -= shown.length;
  room.isCut ||= shown.length < text.length;
  return <pre class="plain">{shown.length < text.length ? `${shown} …` : shown}</pre>;
}
