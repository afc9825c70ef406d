import { raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import MarkdownIt from 'markdown-it';

/** HTML in a text is shown as text, and no image is loaded: the texts are those of agents. */
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

/** A text as HTML that can run nothing; its headings stand below those of the page. */
export function markdown(text: string): HtmlEscapedString {
  return raw(renderer.render(text));
}
