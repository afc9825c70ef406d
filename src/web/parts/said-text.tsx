import { raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import MarkdownIt, { type MarkdownIt as Renderer } from 'markdown-it';
import { splitFrontMatter } from '../../agent/extract/front-matter.ts';
import { parseFields } from '../../agent/extract/extract-reply.ts';
import { formatCount } from '../../text/wording.ts';
import { type Html, Meta, PageLink, useFile } from './page.tsx';

/** Longer texts are cut: a browser needs seconds for megabytes. */
export const MAX_SHOWN = 100_000;

/** Where all of a text is that is too long for a page. */
type Whole = {
  /** The command that prints it. */
  all?: string | undefined;
  /** The address that has it, as text. */
  whole?: string | undefined;
};

type SaidProps = Whole & { text: string; max?: number };

/** What was said, with its Markdown. */
export function SaidText({ text, max = MAX_SHOWN, ...whole }: SaidProps): Html | null {
  if (text.trim() === '') return null;
  // A renderer of Markdown needs many times the size of a text, and half a text is another Markdown.
  return text.length > max ? (
    <PlainText text={text} max={max} {...whole} />
  ) : (
    <div class="said">{markdown(text, useFile() !== undefined)}</div>
  );
}

/** What was said, whose front matter is shown as the fields that it holds. A front matter that is none stays as it is. */
export async function ReplyText({ text, ...shown }: SaidProps): Promise<Html | null> {
  const split = text.trimStart().startsWith('---') && text.length <= MAX_SHOWN ? splitFrontMatter(text) : undefined;
  const parsed = split?.kind === 'found' ? await parseFields(split.yaml, split.firstLine) : undefined;
  if (split?.kind !== 'found' || parsed?.kind !== 'ok') return <SaidText text={text} {...shown} />;
  return (
    <>
      <Meta meta={parsed.fields} />
      <SaidText text={split.body} {...shown} />
    </>
  );
}

/** A text as it is, cut if it is too long for a page. */
export function PlainText({ text, max = MAX_SHOWN, all, whole }: SaidProps): Html {
  return (
    <>
      <pre class="said plain">{text.slice(0, max)}</pre>
      {text.length > max && (
        <p class="quiet">
          The first {formatCount(max)} of {formatCount(text.length)} characters are shown.{' '}
          {whole && !useFile() && <PageLink href={whole}>Read the whole text</PageLink>}{' '}
          {all && (
            <>
              All of it: <code>{all}</code>
            </>
          )}
        </p>
      )}
    </>
  );
}

/** HTML in a text is shown as text, and no image is loaded: the texts are those of agents. */
function createRenderer(): Renderer {
  const renderer = new MarkdownIt({ html: false, linkify: true, breaks: false });
  renderer.disable('image');
  renderer.renderer.rules.link_open = (tokens, index, options, _env, self) => {
    tokens[index]?.attrSet('rel', 'noreferrer noopener nofollow');
    tokens[index]?.attrSet('target', '_blank');
    return self.renderToken(tokens, index, options);
  };
  // The alignment of a column is an inline style, which our policy of content forbids.
  for (const cell of ['th_open', 'td_open']) {
    renderer.renderer.rules[cell] = (tokens, index, options, _env, self) => {
      const token = tokens[index];
      const [, align] = /^text-align:(\w+)$/.exec(String(token?.attrGet('style'))) ?? [];
      if (token && align !== undefined) token.attrs = [['align', align]];
      return self.renderToken(tokens, index, options);
    };
  }
  return renderer;
}

const renderer = createRenderer();

/** The same for files: what an agent links to on its machine, or on a page of ours, is not there. */
const fileRenderer = createRenderer();
fileRenderer.core.ruler.push('links', ({ tokens }) => {
  for (const token of tokens) {
    let isKept = true;
    token.children =
      token.children?.filter((child) => {
        if (child.type === 'link_open') isKept = /^(?:https?:\/\/|mailto:)/i.test(String(child.attrGet('href')));
        return isKept || !child.type.startsWith('link_');
      }) ?? null;
  }
});

/** A text as HTML that can run nothing; its headings stand below those of the page. */
export function markdown(text: string, isFile = false): HtmlEscapedString {
  return raw((isFile ? fileRenderer : renderer).render(text));
}
