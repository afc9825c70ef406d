import type { RoleDefinition } from '../workflow/definition.ts';

/** All that goes into what an agent is told. */
export type PromptParts = {
  role: string;
  definition: RoleDefinition;
  /** How the reply has to look, generated from the role's schema. */
  instruction: string;
  /** The user's prompt. */
  task: string;
  /** What the rule that chose the role says. */
  edgePrompt: string | undefined;
  lastStep: { role: string; text: string } | undefined;
  /** What a person answered, when the role goes on after a suspension. */
  answer: string | undefined;
};

/**
 * Writes what an agent is told: its instructions, the output it owes, the task, what came before and what is next.
 *
 * Parts without content are left out.
 */
export function assemblePrompt(parts: PromptParts): string {
  const { definition, lastStep } = parts;
  const sections: [title: string, text: string | undefined][] = [
    [`You are ${parts.role}`, joinParagraphs(definition.description, definition.systemPrompt)],
    ['Your reply', joinParagraphs(definition.extractPrompt, parts.instruction)],
    ['The task', parts.task],
    [`What ${lastStep?.role ?? ''} said before you`, lastStep?.text],
    ['What to do now', parts.edgePrompt],
    ['The answer to what you asked', parts.answer],
  ];
  return sections.flatMap(([title, text]) => (text?.trim() ? [`# ${title}\n\n${text.trim()}\n`] : [])).join('\n');
}

function joinParagraphs(...texts: string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n');
}
