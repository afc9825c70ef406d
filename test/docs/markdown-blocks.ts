/** A fenced code block of a Markdown file. */
export type MarkdownBlock = {
  /** The first word after the fence: `console`, `js`, `yaml`; '' if there is none. */
  language: string;
  /** What follows the language; where it is there, the name of the file that the block shows. */
  file: string | undefined;
  /** Without the fences, with a final newline. */
  text: string;
  /** Of the line after the opening fence, from 1. */
  line: number;
};

/**
 * The fenced code blocks of a Markdown text, in order.
 *
 * Source: CommonMark 0.31, section 4.5; only fences of three or more backticks at the line's start.
 */
export function markdownBlocks(markdown: string): MarkdownBlock[] {
  const fenced = /^(?<fence>`{3,})(?<language>[^\s`]*)[ \t]*(?<file>[^\n`]*)\n(?<text>[^]*?)^\k<fence>[ \t]*$/gm;
  return [...markdown.matchAll(fenced)].map((match) => ({
    language: match.groups?.['language'] ?? '',
    file: match.groups?.['file']?.trim() || undefined,
    text: match.groups?.['text'] ?? '',
    line: markdown.slice(0, match.index).split('\n').length + 1,
  }));
}
