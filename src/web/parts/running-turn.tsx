import type { Html } from '../html.ts';
import type { JournalPlace } from '../../engine/journal/read-journal.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { placeText } from '../live/live.ts';
import type { TurnPart } from '../live/live-event.ts';
import type { RunningTurn } from '../live/running-turn.ts';

type TurnProps = {
  thread: ThreadId;
  turn: RunningTurn | undefined;
  /** Up to where the journal was read: the browser asks for what comes behind. */
  place: JournalPlace | undefined;
  isRunning: boolean;
};

/** The turn that goes on; the browser adds what the agent says while one looks. Empty between two turns. */
export function RunningTurnPanel({ thread, turn, place, isRunning }: TurnProps): Html {
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
