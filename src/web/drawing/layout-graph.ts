import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../git/system/process-identity.ts';
import type { GraphDrawing, GraphEdge, GraphLine, GraphNode } from './compute-layout.ts';

/** A larger graph is not drawn. */
const MAX_SIZE = 300;
/** A layout that takes longer is given up. */
const LAYOUT_MS = 10_000;
const MAX_MB = 256;

/**
 * Tells whether a graph is small enough to be drawn. A picture of more than 300 nodes says less than a table. The layout of
 * graphs with many more lines than nodes takes minutes, and a remote controls what a fetched workflow has, so that lines
 * beyond one for each node count three times: the largest graph takes about a second.
 */
function canBeDrawn(nodes: number, lines: number): boolean {
  return nodes + 3 * Math.max(lines - nodes, 0) <= MAX_SIZE;
}

/** Layouts that were asked for, the one that was used last at the end: pages of one workflow are asked for again and again. */
const known = new Map<string, Promise<GraphDrawing | undefined>>();
const MAX_KNOWN = 16;

/**
 * Lays out a graph from top to bottom, in a thread of its own: other visitors are answered meanwhile. Edges between the same
 * two nodes become one line with several labels.
 * @returns `undefined` for a graph that is too large to be drawn, or takes too long
 */
export function layoutGraph(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
): Promise<GraphDrawing | undefined> {
  const lines = linesOf(edges);
  if (!canBeDrawn(nodes.length, lines.length)) return Promise.resolve(undefined);
  const key = JSON.stringify([nodes, edges]);
  const drawing = known.get(key) ?? inTurn({ nodes, lines });
  known.delete(key);
  known.set(key, drawing);
  // Another try may have the memory that this one has not.
  drawing.catch(() => known.delete(key));
  for (const oldest of known.keys()) if (known.size > MAX_KNOWN) known.delete(oldest);
  return drawing;
}

/** What the thread gets, and answers with a drawing. */
export type LayoutTask = { nodes: readonly GraphNode[]; lines: readonly GraphLine[] };

let last: Promise<unknown> = Promise.resolve();

/** One layout is computed at a time. */
function inTurn(task: LayoutTask): Promise<GraphDrawing | undefined> {
  const drawing = last.then(() => computeApart(task));
  last = drawing.catch(() => {});
  return drawing;
}

async function computeApart(task: LayoutTask): Promise<GraphDrawing | undefined> {
  const worker = new Worker(join(packageRoot(), 'dist', 'layout-worker.cjs'), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MB },
  });
  const timer = setTimeout(() => void worker.terminate(), LAYOUT_MS);
  try {
    return await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
      // Without an answer before: it took too long.
      worker.once('exit', () => resolve(undefined));
    });
  } finally {
    clearTimeout(timer);
  }
}

function linesOf(edges: readonly GraphEdge[]): GraphLine[] {
  const lines = new Map<string, GraphLine>();
  for (const [edge, { from, to, labelWidth }] of edges.entries()) {
    const key = JSON.stringify([from, to]);
    const line = lines.get(key) ?? { from, to, edges: [], texts: [] };
    lines.set(key, line);
    line.edges.push(edge);
    if (labelWidth !== undefined) line.texts.push({ edge, width: labelWidth });
  }
  return [...lines.values()];
}
