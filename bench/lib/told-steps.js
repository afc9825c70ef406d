import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { draftStep } from './appender.js';

const docs = path.resolve(import.meta.dirname, '../../docs');
const mostToldCharacters = 60_000;

/**
 * Makes drafts of steps for an agent without sessions: each prompt has all earlier replies, up to 60,000 characters. Replies
 * have 800 to 1,200 characters, of words from this project's documents.
 *
 * @param source the result of `loadSource` for `appenderSources`
 */
export function toldSteps(source) {
  const words = readdirSync(docs)
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readFileSync(path.join(docs, name), 'utf8').split(/\s+/));
  let seed = 1;
  const chance = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  let told = '';
  return (number) => {
    const length = 800 + chance(400);
    let text = '';
    while (text.length < length) {
      const from = chance(words.length);
      text += `${words.slice(from, from + 3 + chance(7)).join(' ')} `;
    }
    const prompt = `# The task\n\nGo on.\n\n# What was said so far\n\n${told}`;
    told = `${told}## ${number}. writer (done)\n\n${text}\n\n`.slice(-mostToldCharacters);
    return {
      ...draftStep(source, number),
      text,
      prompt,
      linked: { waiting: [], nodes: [], commits: [], missing: [] },
    };
  };
}
