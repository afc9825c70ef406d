import type { HtmlEscapedString } from 'hono/utils/html';

/** What a component makes: HTML in which every text is escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
