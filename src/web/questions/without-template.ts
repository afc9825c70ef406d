/** Removes the template of an answer from the end of a role's text, because the page shows a form for it. */
export function withoutTemplate(text: string): string {
  return text.replace(/(?:^|\n\n)---\n[^]*\n---\s*$/u, '');
}
