import { expect, test } from 'vitest';
import { layoutGraph } from '../../../src/web/drawing/layout-graph.ts';
import type { GraphEdge, GraphNode } from '../../../src/web/drawing/compute-layout.ts';

/** A ring of roles with rules across it. */
function ring(size: number, rules: number): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes = Array.from({ length: size }, (_, index) => ({ name: `role ${index}`, width: 100, height: 34 }));
  const edges = Array.from({ length: rules }, (_, index) => {
    const to = index < size ? index + 1 : index * 7;
    return { from: `role ${index % size}`, to: `role ${to % size}`, labelWidth: 40 };
  });
  return { nodes, edges };
}

test('while a large graph gets its layout, the process does other things', async () => {
  const { nodes, edges } = ring(60, 90);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const drawing = await layoutGraph(nodes, edges);
  isDone = true;
  expect(drawing?.nodes).toHaveLength(60);
  expect(drawing?.lines).toHaveLength(90);
  expect(turns).toBeGreaterThan(20);
});

test('a graph is laid out once, however many visitors ask for it', async () => {
  const { nodes, edges } = ring(3, 4);
  const [one, other] = await Promise.all([layoutGraph(nodes, edges), layoutGraph(nodes, edges)]);
  expect(one).toBe(other);
  expect(await layoutGraph(nodes, edges)).toBe(one);
});

test('a graph that is too large to be drawn gets no layout', async () => {
  const { nodes, edges } = ring(100, 170);
  expect(await layoutGraph(nodes, edges)).toBeUndefined();
});
