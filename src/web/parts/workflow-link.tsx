import type { Html } from '../html.ts';

/** The name of a workflow, which leads to its page. A thread that cannot be read has none. */
export function WorkflowLink({ name }: { name: string }): Html | null {
  if (name === '') return null;
  return <a href={`/w/${encodeURIComponent(name)}`}>{name}</a>;
}
