import { credentialRules } from './credential-rules.ts';
import { passwordRules } from './password-rules.ts';
import { providerRules } from './provider-rules.ts';
import { randomRules } from './random-rules.ts';
import type { SecretRule } from './rule.ts';

/** Changes with every change of a rule: what was taken out is recorded with it. */
export const table = '2026-11-28';

/** The table: all forms that are known. */
export const rules: readonly SecretRule[] = [...providerRules, ...credentialRules, ...passwordRules, ...randomRules];
