import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../git/system/process-identity.ts';

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'unknown';
}
