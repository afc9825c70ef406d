import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import type { WebApp } from './web-app.ts';

const assetTypes: Readonly<Record<string, string>> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'stream-worker.js': 'text/javascript; charset=utf-8',
};

/** The files that every page loads. */
export function addAssets(app: WebApp): void {
  for (const [name, type] of Object.entries(assetTypes)) {
    app.get(`/assets/${name}`, (context) => {
      context.header('Content-Type', type);
      return context.body(readFileSync(join(packageRoot(), 'dist', 'web', name)));
    });
  }
}
