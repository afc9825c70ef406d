import type { KnownReports } from '../../agent/known-reports.ts';
import type { ThreadLimits } from '../../workflow/definition.ts';
import { bindingFor, type Config } from '../config/config.ts';
import { findUnkept } from '../limits/unkept-limits.ts';
import type { KnownWorkflows } from './diagnose-bindings.ts';
import { problem, warning, type Diagnosis } from './diagnosis.ts';

/**
 * Names the limits of the configuration and of workflows that do not hold for an agent, because it does not report what they
 * count. Agents whose reports are not known are left out.
 */
export function diagnoseLimits(
  config: Config,
  agent: { name: string; isUsersOwn?: boolean },
  reports: KnownReports,
  workflows: KnownWorkflows,
): Diagnosis[] {
  // The user's own agents serve other repositories too.
  const isUsedHere = agent.isUsersOwn !== true || config.defaultAgent === agent.name;
  const uses: { where: string; limits: (ThreadLimits | undefined)[] }[] = [
    { where: '', limits: isUsedHere ? [config.limits] : [] },
  ];
  for (const definition of workflows.values()) {
    for (const [role, { limits }] of Object.entries(definition?.roles ?? {})) {
      if (definition === undefined || bindingFor(config, definition.name, role)?.name !== agent.name) continue;
      const where = ` in ${definition.name}.${role}`;
      uses.push({ where, limits: [config.limits, definition.limits, limits] });
    }
  }
  const found = new Map<string, Diagnosis>();
  for (const { where, limits } of uses) {
    const unkept = findUnkept(agent.name, reports, limits);
    if (unkept === undefined || found.has(unkept.text)) continue;
    const diagnose = unkept.isRefused ? problem : warning;
    found.set(unkept.text, diagnose('limit-unkept', `${unkept.text}${where}`, unkept.hint));
  }
  return [...found.values()];
}
