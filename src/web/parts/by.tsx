import type { Html } from '../html.ts';

/** A person, by name; the address shows where the pointer rests. @param person as `name <email>` */
export function By({ person }: { person: string }): Html {
  return <span title={person}>{person.replace(/ <[^<>]*>$/u, '')}</span>;
}
