import { aiRules } from './ai-rules.ts';
import { cloudRules } from './cloud-rules.ts';
import { credentialRules } from './credential-rules.ts';
import { developmentRules } from './development-rules.ts';
import { randomRules } from './random-rules.ts';
import type { SecretRule } from './rule.ts';
import { serviceRules } from './service-rules.ts';

/** Changes with every change of a rule: what was taken out is recorded with it. */
export const table = '2026-11-23';

/** The table: all forms that are known. */
export const rules: readonly SecretRule[] = [
  ...developmentRules,
  ...cloudRules,
  ...aiRules,
  ...serviceRules,
  ...credentialRules,
  ...randomRules,
];
