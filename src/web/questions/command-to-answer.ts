import { replyTemplate } from '../../agent/human/answer-reply.ts';
import { threadToAnswer } from '../../engine/describe/describe.ts';
import { limitOptions } from '../../engine/limits/limits.ts';
import { onlyChoice } from '../forms/schema-form.tsx';
import type { WaitingQuestion } from './read-question.ts';
import { shellQuoted } from '../../shell-quoted.ts';

/** The command that answers a question at a terminal, with what a person fills in; one line for each of few answers. */
export function commandToAnswer(question: WaitingQuestion): string {
  const resume = `uwf thread resume ${threadToAnswer(question.view, question.asking).thread}`;
  switch (question.kind) {
    case 'permission':
      return `${resume} -p yes\n${resume} -p no`;
    case 'limit': {
      const { reached } = question;
      const option = limitOptions.find(([name]) => name === reached?.name)?.[1] ?? 'steps';
      return `${resume} --${option} ${reached?.missing ?? 10}`;
    }
    case 'again':
      return resume;
    case 'text':
      return question.template === undefined ? `${resume} -p '…'` : withInput(resume, question.template);
    case 'reply': {
      const words = onlyChoice(question.shape)?.choices.map(({ word }) => word) ?? [];
      if (words.length === 0) return withInput(resume, replyTemplate(question.schema));
      return words.map((word) => `${resume} -p ${quoted(word)}`).join('\n');
    }
  }
}

/** Text on the input of a command, as a shell takes it without looking into it. */
function withInput(command: string, text: string): string {
  return `${command} -F - <<'EOF'\n${text.trimEnd()}\n\n…\nEOF`;
}

function quoted(word: string): string {
  return /^[\w.-]+$/u.test(word) ? word : shellQuoted(word);
}
