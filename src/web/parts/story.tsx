import type { ThreadView } from '../../engine/describe/describe.ts';
import { findTurnOf, type FoundTurn } from '../../engine/describe/find-turn.ts';
import type { JournalPlace } from '../../engine/journal/read-journal.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readSaidUpTo, type Said } from '../../thread/read-said.ts';
import { readableMeta } from '../../thread/step-view.ts';
import { findStepByNumber } from '../../thread/thread-chain.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import { readRunningTurn, type RunningTurn, type TurnPart } from '../live/running-turn.ts';
import { placeText } from '../live/live.ts';
import { nameOfLimit, type TypedAnswer, withoutTemplate } from '../questions/read-question.ts';
import type { Site, Visit } from '../site.ts';
import { AnswerPanel } from './answer-panel.tsx';
import { Ago, By, type Html, Meta, PageLink, SecretMark, secretsIn, useFile } from './page.tsx';
import { MAX_SHOWN, ReplyText, SaidText } from './said-text.tsx';
import { ThreadActs } from './thread-acts.tsx';

type StoryProps = {
  visit: Visit;
  view: ThreadView;
  /** Only what was before the step of this number. */
  before: number | undefined;
  /** The commit from which that is read. */
  from: ObjectId;
  /** An answer that was typed, and is not taken. */
  again: TypedAnswer | undefined;
};

/** The steps of a thread as a conversation, with suspensions and answers in their places. */
export async function Story({ visit, view, before, from, again }: StoryProps): Promise<Awaited<Html>> {
  const { repository } = visit.site.engine;
  const file = useFile();
  const said = await readSaidUpTo(repository, from, { limit: STORY_STEPS, before });
  const first = said.find(({ kind }) => kind === 'step')?.number ?? 0;
  const isNewest = before === undefined;
  const room = shareRoom(said);
  const title = view.prompt === '' ? view.thread : view.prompt;
  for (const [index, entry] of said.entries()) {
    const heading = `${title} · ${headingOf(entry)}`;
    file?.onEntry({ anchor: anchorOf(entry), title: heading, text: textOf(entry, room[index] ?? 0) });
  }
  return (
    <>
      {first > 1 && (
        <p>
          <PageLink href={`/t/${view.thread}?before=${first}`}>Earlier steps</PageLink>
        </p>
      )}
      <ol class="story" aria-label="What was said">
        {said.map((entry, index) => (
          <Entry visit={visit} thread={view.thread} entry={entry} max={room[index] ?? 0} />
        ))}
      </ol>
      {isNewest && !isOver(view.status) && !file && (
        <RunningTurnPanel
          thread={view.thread}
          {...readRunningTurn(repository, view)}
          isRunning={view.holder !== null}
        />
      )}
      {isNewest && view.status === 'suspended' && <AnswerPanel visit={visit} view={view} again={again} isBelowStory />}
      {isNewest && <ThreadActs visit={visit} view={view} />}
      {!isNewest && (
        <p>
          <PageLink href={`/t/${view.thread}`}>Newest steps</PageLink>
        </p>
      )}
    </>
  );
}

/** A page has so many characters of what was said, beside the beginning of everything. */
const MAX_STORY = 500_000;
const BEGINNING = 1_000;

/** How many characters of each text a page has: the newest ones are whole for as long as there is room. */
function shareRoom(said: readonly Said[]): number[] {
  let left = MAX_STORY;
  const room = said.toReversed().map(({ text }) => {
    const max = Math.min(MAX_SHOWN, Math.max(left, BEGINNING));
    left -= Math.min(text.length, max);
    return max;
  });
  return room.toReversed();
}

function anchorOf(entry: Said): string {
  switch (entry.kind) {
    case 'start':
      return 'task';
    case 'step':
      return `step-${entry.number}`;
    case 'suspend':
      return entry.suspension;
    case 'resume':
      return entry.resumption;
  }
}

/** What the heading of an entry says, without its time. */
function headingOf({ kind, number, role, by, text }: Said): string {
  switch (kind) {
    case 'start':
      return 'The task';
    case 'step':
      return `${number}. ${role}`;
    case 'suspend':
      return `${role} waited`;
    case 'resume':
      return `${(by ?? 'A person').replace(/ <[^<>]*>$/u, '')} ${text === '' ? 'let it go on' : 'answered'}`;
  }
}

/** What the search of an export finds of an entry: what its page shows. */
function textOf(entry: Said, max: number): string {
  const fields = entry.kind === 'step' ? Object.entries(readableMeta(entry.meta ?? {})) : [];
  const meta = fields.map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [...meta, entry.kind === 'suspend' ? entry.reason : '', entry.text.slice(0, max)].join(' ');
}

type EntryProps = { visit: Visit; thread: string; entry: Said; max: number };

function Entry({ visit: { nowMs, site }, thread, entry, max }: EntryProps): Html {
  const { role, number, completedAt, text } = entry;
  const when = <Ago at={completedAt} nowMs={nowMs} />;
  const byAndWhen = entry.by ? (
    <>
      by <By person={entry.by} />, {when}
    </>
  ) : (
    when
  );
  const wholeOf = (hash: string): object => ({
    max,
    all: `uwf step read ${hash}`,
    whole: textAddress(thread, hash),
  });
  const ofThread = { max, all: `uwf thread read ${thread}` };
  const secrets = secretsIn(site, text.slice(0, max));
  switch (entry.kind) {
    case 'start':
      return (
        <li class="entry person" id={anchorOf(entry)}>
          <h2>
            The task <span class="quiet">{byAndWhen}</span>
          </h2>
          <SecretMark thread={thread} secrets={secrets} />
          <SaidText text={text} {...ofThread} />
        </li>
      );
    case 'step':
      return (
        <li class="entry" id={anchorOf(entry)}>
          <h2>
            <PageLink href={`/t/${thread}/${number}`}>
              {number}. {role}
            </PageLink>{' '}
            <span class="quiet">{byAndWhen}</span>
          </h2>
          <SecretMark thread={thread} secrets={secrets} />
          <Meta meta={entry.meta ?? {}} />
          <SaidText text={text} {...wholeOf(entry.step ?? '')} />
        </li>
      );
    case 'suspend':
      return (
        <li class="entry waited" id={anchorOf(entry)}>
          <h2>
            <PageLink href={`/t/${thread}/${entry.suspension}`}>{role} waited</PageLink>{' '}
            <span class="quiet">{when}</span>
          </h2>
          <SecretMark thread={thread} secrets={secrets} />
          <p class="reason">{entry.reason}</p>
          <ReplyText text={entry.cause === 'human' ? withoutTemplate(text) : text} {...wholeOf(entry.suspension)} />
          {entry.refused.length > 0 && (
            <p class="quiet">
              {entry.refused.length === 1 ? '1 reply' : `${entry.refused.length} replies`} not accepted
            </p>
          )}
        </li>
      );
    case 'resume':
      return (
        <li class="entry person" id={anchorOf(entry)}>
          <h2>
            <By person={entry.by ?? 'A person'} /> {text === '' ? 'let it go on' : 'answered'}{' '}
            <span class="quiet">{when}</span>
          </h2>
          <SecretMark thread={thread} secrets={secrets} />
          {entry.more && <More more={entry.more} />}
          <ReplyText text={text} {...ofThread} />
        </li>
      );
  }
}

/** How much more than its limits the thread may use since then. */
function More({ more }: { more: MoreLimits }): Html {
  const allowed = Object.entries(more).map(([name, amount]) => `${amount} ${nameOfLimit(name)}`);
  return <p class="reason">allowed {allowed.join(', ')}</p>;
}

type TurnProps = {
  thread: ThreadId;
  turn: RunningTurn | undefined;
  /** Up to where the journal was read: the browser asks for what comes behind. */
  place: JournalPlace | undefined;
  isRunning: boolean;
};

/** The turn that goes on; the browser adds what the agent says while one looks. Empty between two turns. */
function RunningTurnPanel({ thread, turn, place, isRunning }: TurnProps): Html {
  return (
    <section
      id="turn"
      class="entry turn"
      data-journal={thread}
      data-place={placeText(place)}
      hidden={turn === undefined}
      aria-live="off"
      aria-label="The turn that goes on"
    >
      {turn && (
        <>
          <h2>
            {turn.number}. {turn.role}{' '}
            <span class="quiet">{isRunning ? `${turn.agent} is at work`.trim() : 'was cut off'}</span>
          </h2>
          <div class="parts">
            {turn.parts.map((part) => (
              <Part part={part} />
            ))}
          </div>
        </>
      )}
    </section>
  );
}

function Part({ part: { kind, text } }: { part: TurnPart }): Html {
  return (
    <p class="part" data-kind={kind}>
      {text}
    </p>
  );
}

/** The address of all that was said in a turn, as text: pages have the beginning of what is long. */
export function textAddress(thread: string, turn: string): string {
  return `/t/${thread}/${turn}/text`;
}

/** All that was said in a step, or in a turn that ended in a suspension. */
export async function stepText({ engine: { repository } }: Site, id: string, text: string): Promise<string> {
  const { commit } = await findTurnOf(repository, await getThread(repository, id), text);
  return readReplyAt(repository, commit);
}

/** Reads what was said in a turn; '' for one that said nothing. */
export async function readReplyAt(repository: Repository, commit: FoundTurn['commit']): Promise<string> {
  const isSilent = commit.kind === 'suspend' && commit.node.content === null;
  return isSilent ? '' : readTextAt(repository, commit, 'output.md');
}

/** So many steps are on one page of a story: browsers take megabytes for each hundred. */
export const STORY_STEPS = 200;

/** The address of a place in the story of a thread with `count` steps: at the step of this number, or before it. */
export function storyAddress(thread: ThreadId, count: number, number: number, anchor: string): string {
  const before = Math.min(number + STORY_STEPS / 2, count + 1);
  return number > count - STORY_STEPS ? `/t/${thread}#${anchor}` : `/t/${thread}?before=${before}#${anchor}`;
}

/** The commit from which steps before the step of this number are read: its own, so that no chain is walked from the head to it. */
export async function commitToReadFrom(
  repository: Repository,
  thread: Pick<ThreadPointer, 'id' | 'head'>,
  before: number | undefined,
): Promise<ObjectId> {
  if (before === undefined) return thread.head;
  return (await findStepByNumber(repository, thread.head, before))?.id ?? thread.head;
}
