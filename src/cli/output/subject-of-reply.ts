import { splitFrontMatter } from '../../agent/extract/front-matter.ts';
import { firstLine } from '../../thread/commit-message.ts';

/** The first line that says something of a reply as it was given, behind its front matter; '' if there is none. */
export function subjectOfReply(reply: string): string {
  const split = splitFrontMatter(reply);
  return firstLine(split.kind === 'found' ? split.body : reply);
}
