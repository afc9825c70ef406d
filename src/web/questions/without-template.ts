/** What a role said, without the template of an answer at its end: a form stands for that. */
export function withoutTemplate(text: string): string {
  return text.replace(/(?:^|\n\n)---\n[^]*\n---\s*$/u, '');
}
