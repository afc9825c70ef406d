import { UwfError } from '../errors.ts';

type Details = { hint: string; cause?: unknown };

/** There is no agent to do the work: none is configured, its package is not installed, or its program is not there. */
export class AgentMissing extends UwfError {
  /** @param subject what was looked for: a role, a package reference, or a program */
  constructor(message: string, { subject, ...details }: Details & { subject: string }) {
    super(message, { code: 'agent-missing', kind: 'agent', ...details, facts: { subject } });
  }
}

/** The agent is installed, and does nothing before a person has logged in with it. */
export class AgentNotAuthorized extends UwfError {
  /** @param subject the agent's program, or the server that it talks to */
  constructor(message: string, { subject, ...details }: Details & { subject: string }) {
    super(message, { code: 'agent-not-authorized', kind: 'agent', ...details, facts: { subject } });
  }
}

/** An agent's `config` does not satisfy its package's `configSchema`. Raised before anything runs. */
export class AgentConfigInvalid extends UwfError {
  /**
   * @param agent its name in the configuration
   * @param mistakes one sentence for each, which names its key: `agents.tests.config.argv must be an array`
   * @param declaredAt where the agent is declared, `file:line:column`
   */
  constructor(agent: string, mistakes: readonly string[], declaredAt: string | undefined) {
    super(`the configuration of agent '${agent}' is not valid: ${mistakes.join('; ')}`, {
      code: 'agent-config-invalid',
      // Trying a turn again cannot help: it is the person who typed the configuration that is asked.
      kind: 'usage',
      hint: `correct it in ${declaredAt ?? '.uwf/config.yaml'}`,
      facts: { agent, mistakes },
    });
  }
}

/** The agent could not do its work, and trying the turn again would not help. */
export class AgentBroken extends UwfError {
  constructor(message: string, details: Details) {
    super(message, { code: 'agent-broken', kind: 'agent', ...details });
  }
}

/** A model's server refuses a request. The agent is there, but its configuration is wrong. */
export class RequestRefused extends UwfError {
  constructor(message: string, facts: { hint: string }) {
    super(message, { code: 'request-refused', kind: 'environment', hint: facts.hint });
  }
}
