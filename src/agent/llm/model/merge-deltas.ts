import type { TextStreamPart, ToolSet } from 'ai';

type Part = TextStreamPart<ToolSet>;
/** A piece of what the model says, thinks, or calls a tool with. */
type Delta = Extract<Part, { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }>;

/** Pieces are merged up to this many characters. */
const MAX_MERGED_CHARACTERS = 4096;

/**
 * A transformation of a stream of the AI SDK: tells every piece at once, and passes on a few large ones in their place.
 *
 * The SDK keeps each part of an answer until it is over, which for an answer in many small pieces is hundreds of times the
 * answer itself. Pieces of tools' arguments are not passed on at all: the whole call follows them.
 */
export function mergeDeltas(onDelta: (kind: Delta['type'], text: string) => void): TransformStream<Part, Part> {
  let held: Exclude<Delta, { type: 'tool-input-delta' }> | undefined;
  const release = (controller: TransformStreamDefaultController<Part>): void => {
    if (held !== undefined) controller.enqueue(held);
    held = undefined;
  };
  return new TransformStream<Part, Part>({
    transform(part, controller) {
      if (part.type === 'tool-input-delta') {
        onDelta(part.type, part.delta);
      } else if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
        onDelta(part.type, part.text);
        if (held?.type === part.type && held.id === part.id) held = { ...held, ...part, text: held.text + part.text };
        else {
          release(controller);
          held = part;
        }
        if (held.text.length >= MAX_MERGED_CHARACTERS) release(controller);
      } else {
        release(controller);
        controller.enqueue(part);
      }
    },
    flush: release,
  });
}
