import type { JsonObject } from '../json.ts';
import type { PackageDescriptor } from './contract.ts';

/** Describes an agent that comes with uwf. All have one version, which stands in the records of threads. */
export function describeBuiltIn(
  name: string,
  capabilities: readonly string[],
  configSchema: JsonObject,
): PackageDescriptor {
  return { name: `builtin:${name}`, version: '1.0.0', capabilities, configSchema };
}
