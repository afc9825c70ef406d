import type { ContextStep } from './agent-context.ts';

/** What is to be summed up. */
export type SummaryParts = {
  task: string;
  /** Oldest first. */
  steps: readonly ContextStep[];
  /** How many characters of the steps one prompt holds. */
  maxCharacters: number;
};

const INSTRUCTION = `Sum up the work of several roles on a task, for those of them who go on with it. They are told your summary instead of
what was said, and nothing else of it: keep every decision and its reason, what was done and what is still to be done, names of
files, commands, hashes and numbers as they are, and what was tried and did not work. Leave out courtesies and repetitions.
Do not do any of the work, and do not change any file. Reply with the summary as plain Markdown, without front matter.`;

/**
 * Writes what an agent is told to sum up a thread: one prompt for as many steps as it holds, to be filled in with the
 * summary of what came before. There is always at least one.
 */
export function summaryPrompts({ task, steps, maxCharacters }: SummaryParts): ((before?: string) => string)[] {
  return chunksOf(steps, maxCharacters).map((chunk) => (before) => {
    const said = chunk.map((step) => describe(step, maxCharacters)).join('\n\n');
    const sections: [title: string, text: string | undefined][] = [
      ['What you are to do', INSTRUCTION],
      ['The task of the thread', task],
      ['The summary so far, which yours replaces', before],
      ['What was said since', said],
    ];
    return sections.flatMap(([title, text]) => (text?.trim() ? [`# ${title}\n\n${text.trim()}\n`] : [])).join('\n');
  });
}

/** Parts the steps so that the texts of each part fit; a longer one is by itself. */
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

function describe({ number, role, status, text }: ContextStep, maxCharacters: number): string {
  const surplus = text.length - maxCharacters;
  const half = Math.floor(maxCharacters / 2);
  const shown = surplus > 0 ? `${text.slice(0, half)}\n[${surplus} characters are cut]\n${text.slice(-half)}` : text;
  return `## ${number}. ${role}${status === null ? '' : ` (${status})`}\n\n${shown.trim()}`;
}
