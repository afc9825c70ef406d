import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { root, testDocument } from './live-document.ts';

// The document begins in an empty folder and installs what it needs, from npm's cache where it can.
testDocument('docs/writing-an-agent.md', (folder) => rmSync(path.join(folder, '.git'), { recursive: true }), {
  UWF_CHECKOUT: root,
  npm_config_offline: 'false',
  npm_config_prefer_offline: 'true',
  UWF_TRUST: undefined,
  npm_config_loglevel: 'error',
  npm_config_cache: npmConfig('cache'),
  npm_config_userconfig: npmConfig('userconfig'),
});

function npmConfig(key: string): string {
  return execFileSync('npm', ['config', 'get', key], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
