import type { EngineEvent, SlotHolder } from '../../engine/events.ts';
import type { JournalEntry } from '../../engine/journal/journal.ts';
import { describeMissing, describeOutside } from '../../git/worktree/file-notes.ts';
import type { Palette } from '../output/palette.ts';
import { redactedLine } from '../output/secret-places.ts';
import { formatDuration } from '../../format-time.ts';
import { oneLine } from '../output/width.ts';

/** One line for an event that a person should notice in a turn; `undefined` for every other event. */
export function eventNotice(event: EngineEvent | JournalEntry, paint: Palette): string | undefined {
  switch (event.event) {
    case 'thread.waiting': {
      return `${paint.warning('waiting')} until fewer than ${event.limit} threads work: ${nameAll(paint, event.holders)}`;
    }
    case 'work-tree.shared': {
      const remedy = "'uwf run --isolate' gives a run a work tree of its own, 'isolation: shared' allows this";
      return `${paint.warning('shared work tree')} with ${nameAll(paint, event.others)}; ${remedy}`;
    }
    case 'limits.unkept':
      return `${paint.warning('no limit')}: ${oneLine(event.text)}; ${oneLine(event.hint)}`;
    case 'thread.compacted': {
      const by = event.agent === null ? '' : ` by ${paint.name(event.agent)}`;
      return `${paint.quiet('summed up')} ${event.steps} steps${by} in ${event.characters} characters`;
    }
    case 'thread.not-compacted':
      return `${paint.warning('not summed up')}: ${oneLine(event.reason)}`;
    case 'reply.refused': {
      const next = event.isLast ? 'not asked again' : 'asking again';
      const errors = event.errors.map(oneLine).join('; ');
      return `${paint.warning('not accepted')} from ${paint.name(event.role)}, ${next}: ${errors}`;
    }
    case 'secrets.redacted':
      return paint.warning(redactedLine(event.rules, event.role === null ? 'what was given' : paint.name(event.role)));
    case 'reply.stored': {
      const where = event.fork === null ? '' : ` as thread ${paint.id(event.fork)}`;
      return `${paint.quiet('stored')} the reply of ${paint.name(event.role)} that was kept${where}`;
    }
    case 'main.changed':
      return paint.warning(oneLine(describeOutside(event.role, event)));
    case 'work-tree.incomplete':
      return `${paint.warning('not copied')} into the work tree: ${oneLine(describeMissing(event.missing))}`;
    case 'snapshot.shortened':
      return `${paint.warning('not recorded')} of what ${paint.name(event.role)} left: ${oneLine(event.reason)}`;
    case 'agent.pause': {
      const took = formatDuration(event.durationMs);
      return `${paint.warning('waiting')} ${took} before ${paint.name(event.role)} goes on: ${oneLine(event.text)}`;
    }
    case 'child.left':
      return `${paint.warning('left')} child thread ${paint.id(event.child)} (${event.status}): no later try asked for it`;
    default:
      return undefined;
  }
}

function nameAll(paint: Palette, holders: readonly SlotHolder[]): string {
  return holders.map(({ thread, pid }) => `${paint.id(thread)} (process ${pid})`).join(', ');
}
