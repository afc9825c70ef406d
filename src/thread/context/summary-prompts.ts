import { entry, titled, type ContextStep } from './agent-context.ts';

/** The content of a summary. */
export type SummaryParts = {
  task: string;
  /** Oldest first. */
  steps: readonly ContextStep[];
  /** The most characters of steps in one prompt. */
  maxCharacters: number;
};

const INSTRUCTION = `Sum up the work of several roles on a task, for those of them who go on with it. They are told your summary instead of
what was said, and nothing else of it: keep every decision and its reason, what was done and what is still to be done, names of
files, commands, hashes and numbers as they are, and what was tried and did not work. Leave out courtesies and repetitions.
Do not do any of the work, and do not change any file. Reply with the summary as plain Markdown, without front matter.`;

/**
 * Writes the prompts with which an agent summarizes a thread. Each has as many steps as fit, and the summary of those before.
 * There is at least one prompt.
 */
export function summaryPrompts({ task, steps, maxCharacters }: SummaryParts): ((before?: string) => string)[] {
  return chunksOf(steps, maxCharacters).map((chunk) => (before) => {
    const said = chunk.map((step) => describe(step, maxCharacters)).join('\n\n');
    return titled([
      ['What you are to do', INSTRUCTION],
      ['The task of the thread', task],
      ['The summary so far, which yours replaces', before],
      ['What was said since', said],
    ]);
  });
}

/** Splits the steps so that the texts of each part fit. A step whose text alone does not fit is a part of its own. */
function chunksOf(steps: readonly ContextStep[], maxCharacters: number): ContextStep[][] {
  const chunks: ContextStep[][] = [[]];
  let characters = 0;
  for (const step of steps) {
    if (characters > 0 && characters + step.text.length > maxCharacters) {
      chunks.push([]);
      characters = 0;
    }
    chunks.at(-1)?.push(step);
    characters += step.text.length;
  }
  return chunks;
}

function describe(step: ContextStep, maxCharacters: number): string {
  const { text } = step;
  const surplus = text.length - maxCharacters;
  const half = Math.floor(maxCharacters / 2);
  const shown = surplus > 0 ? `${text.slice(0, half)}\n[${surplus} characters are cut]\n${text.slice(-half)}` : text;
  return entry(step, shown.trim());
}
