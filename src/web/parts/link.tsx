import { type Context, createContext, useContext } from 'hono/jsx';
import type { Html } from '../html.ts';

/** Where a link of an export leads: to a file, or nowhere in it. */
export type Target = { href: string } | 'not-here' | 'other-thread';

/** Something that was said in a story, for the search. */
export type StoryEntry = { anchor: string; title: string; text: string };

/** The file that a page becomes. */
export type ExportedFile = {
  /** Where an address of the page leads from this file. */
  targetOf(address: string): Promise<Target>;
  /** How this file names one of `assets/`. */
  asset(name: string): string;
  /** Is told what its story has. */
  onEntry(entry: StoryEntry): void;
};

/** The file that the page becomes that is being rendered; `undefined` for one that a server answers with. */
export const FileContext: Context<ExportedFile | undefined> = createContext<ExportedFile | undefined>(undefined);

export function useFile(): ExportedFile | undefined {
  return useContext(FileContext);
}

type LinkProps = { href: string; class?: string; rel?: string; 'aria-current'?: 'page'; children?: unknown };

/** A link to one of our pages. In an export it leads to a file, or its words stay alone. */
export function PageLink(props: LinkProps): Html {
  const file = useFile();
  return file === undefined || props.href.startsWith('#') ? <a {...props} /> : linkInFile(file, props);
}

async function linkInFile(file: ExportedFile, { children, ...props }: LinkProps): Promise<Awaited<Html>> {
  const target = await file.targetOf(props.href);
  if (target === 'not-here') return <>{children}</>;
  // Its words may be of the other thread, and a drawing needs none.
  if (target === 'other-thread') return <>{isText(children) ? 'another thread' : ''}</>;
  return (
    <a {...props} href={target.href}>
      {children}
    </a>
  );
}

function isText(children: unknown): boolean {
  return [children].flat(Infinity).every((child) => typeof child !== 'object' || child === null);
}
