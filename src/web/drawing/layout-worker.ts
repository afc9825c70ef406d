import { parentPort, workerData } from 'node:worker_threads';
import { computeLayout } from './compute-layout.ts';
import type { LayoutTask } from './layout-graph.ts';

// The program of the thread that lays out one graph.

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `layoutGraph` gives it.
const { nodes, lines } = workerData as LayoutTask;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
void computeLayout(nodes, lines).then((drawing) => parentPort?.postMessage(drawing));
