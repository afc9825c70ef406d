import type { ParsedOption, TextOption } from './command.ts';
import { parseCount, parseDuration } from './input/parse-value.ts';
import { promptOptions } from './input/read-text.ts';
import type { Limits } from '../workflow/definition.ts';

/** The options of commands that start a thread. */
export const startOptions: {
  prompt: TextOption;
  file: TextOption;
  limit: ParsedOption<number>;
  timeout: ParsedOption<number>;
  'idle-timeout': ParsedOption<number>;
} = {
  ...promptOptions,
  limit: { value: '<n>', summary: 'suspend the thread after this many steps', parse: parseCount },
  timeout: { value: '<span>', summary: 'suspend it when one turn takes longer: 30s, 5min', parse: parseDuration },
  'idle-timeout': {
    value: '<span>',
    summary: 'suspend it when an agent gives no sign of life for so long',
    parse: parseDuration,
  },
};

/** The limits that a command line sets for a thread; `undefined` if none. */
export function limitsOf(options: {
  limit: number | undefined;
  timeout: number | undefined;
  'idle-timeout': number | undefined;
}): Limits | undefined {
  const limits: Limits = {
    ...(options.limit !== undefined && { maxSteps: options.limit }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    ...(options['idle-timeout'] !== undefined && { idleTimeoutMs: options['idle-timeout'] }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
