import type { Context, Hono } from 'hono';
import type { Visit } from '../site.ts';

/** What a request of a browser that is logged in carries on. */
type WebEnv = { Variables: { session: string } };

/** The routes of the page. */
export type WebApp = Hono<WebEnv>;
export type WebContext = Context<WebEnv>;

/** Makes of a request what pages need. */
export type VisitOf = (context: WebContext) => Visit;
