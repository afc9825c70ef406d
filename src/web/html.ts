import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

/** What a component makes: HTML in which every text is escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The text of a component, with those inside of it that read something first. */
export async function renderText(component: Html | Promise<Html>): Promise<string> {
  return (await html`${component}`).toString();
}
