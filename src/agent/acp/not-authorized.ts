import type { InitializeResponse } from '@agentclientprotocol/sdk/unstable';

import { AgentNotAuthorized } from '../agent-errors.ts';
import type { AcpConfig } from './acp-config.ts';
import { messageOf } from '../../errors.ts';
import { headAndTail, MAX_SAID_CHARACTERS } from '../processes/head-and-tail.ts';

/** The protocol's own code for "log in first" (`RequestError.authRequired`). */
const AUTH_REQUIRED = -32000;

/** Tells whether an agent refused because no user is logged in. */
export function isAuthRequired(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === AUTH_REQUIRED;
}

/** The error that says how to log in with an agent, as far as the agent says it. */
export function notAuthorized(about: InitializeResponse, config: AcpConfig, cause: unknown): AgentNotAuthorized {
  const [program] = config.command;
  const said = headAndTail(messageOf(cause), MAX_SAID_CHARACTERS);
  const methods = about.authMethods ?? [];
  const ways = methods.map(({ id, name, description }) => `${id} (${description || name})`);
  const others = methods.map(({ id }) => id).filter((id) => id !== config.authMethod);
  const hints = [
    `start '${program}' by itself once and log in there`,
    "or name the variable with its key in the agent's config, passEnv",
    ...(others.length === 0 ? [] : [`or choose one of its ways as authMethod: ${others.join(', ')}`]),
    ...(ways.length === 0 ? [] : [`it knows ${ways.join('; ')}`]),
  ];
  return new AgentNotAuthorized(`the agent '${program}' wants a person to log in: ${said}`, {
    subject: program,
    hint: hints.join('; '),
    cause,
  });
}
