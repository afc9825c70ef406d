import type { Context, Hono } from 'hono';
import type { Visit } from '../site.ts';

/** What a request has after the login was checked: the browser's session. */
type WebEnv = { Variables: { session: string } };

/** The routes of the page. */
export type WebApp = Hono<WebEnv>;
export type WebContext = Context<WebEnv>;

/** Makes the visit of a request: what pages need to know of it. */
export type VisitOf = (context: WebContext) => Visit;
