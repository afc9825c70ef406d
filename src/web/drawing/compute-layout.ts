const LABEL_HEIGHT = 18;
const HEAD_LENGTH = 9;
const HEAD_WIDTH = 8;

/** All edges from one node to another, before they have a place. */
export type GraphLine = Pick<DrawnLine, 'from' | 'to' | 'edges'> & { texts: { edge: number; width: number }[] };

/** Gives everything a place: from a few milliseconds to seconds of work. */
export async function computeLayout(nodes: readonly GraphNode[], lines: readonly GraphLine[]): Promise<GraphDrawing> {
  const { Graph, layout } = await import('@dagrejs/dagre');
  const graph = new Graph<
    { width?: number; height?: number },
    Partial<Point> & { width?: number },
    Partial<Point> & { points?: Point[] }
  >({
    multigraph: true,
  });
  graph.setGraph({ rankdir: 'TB', nodesep: 36, edgesep: 24, ranksep: 36, marginx: 8, marginy: 8 });
  // The layout writes into what it is given. Names of nodes are numbers, because a role can have any name.
  const ids = new Map(nodes.map(({ name }, index) => [name, String(index)]));
  const idOf = (name: string): string => ids.get(name) ?? '';
  for (const { name, width, height } of nodes) graph.setNode(idOf(name), { width, height });
  for (const { from, to, texts } of lines) {
    const width = Math.max(0, ...texts.map((text) => text.width));
    graph.setEdge(idOf(from), idOf(to), { width, height: texts.length * LABEL_HEIGHT, labelpos: 'c' });
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: nodes.map((node) => {
      const { x = 0, y = 0 } = graph.node(idOf(node.name));
      return { ...node, x: round(x), y: round(y) };
    }),
    lines: lines.map(({ from, to, edges, texts }) => {
      const { x = 0, y = 0, points = [] } = graph.edge(idOf(from), idOf(to));
      // The layout leaves room at the right of a node for a line to itself, but draws it elsewhere.
      const loop = from === to ? drawLoop(graph.node(idOf(from))) : undefined;
      const first = y - ((texts.length - 1) * LABEL_HEIGHT) / 2;
      const labels = texts.map((text, index) => {
        const middle = loop === undefined ? x : loop.end + text.width / 2;
        return { ...text, x: round(middle), y: round(first + index * LABEL_HEIGHT) };
      });
      const { path, head } = loop ?? drawLine(points);
      return { from, to, edges, labels, path, head };
    }),
  };
}

/** A soft line through points, with its head at the last of them. */
function drawLine(points: readonly Point[]): Pick<DrawnLine, 'path' | 'head'> {
  const [first, last, before] = [points[0], points.at(-1), points.at(-2)];
  if (first === undefined || last === undefined || before === undefined) return { path: '', head: '' };
  const through = [...points.slice(0, -1), baseOfHead(last, before)];
  const curves = through.slice(1).map((to, index) => {
    const [start, from = to] = [through[index - 1], through[index]];
    // The tangent at a point has the direction of its neighbours (Catmull-Rom).
    const leave = shifted(from, start ?? from, to, 1 / 6);
    const arrive = shifted(to, from, through[index + 2] ?? to, -1 / 6);
    return `C${textOf(leave)} ${textOf(arrive)} ${textOf(to)}`;
  });
  return { path: `M${textOf(first)}${curves.join('')}`, head: headAt(last, before) };
}

/** A line from the right side of a node to itself; `end` is where its label begins. */
function drawLoop({ x = 0, y = 0, width = 0 }: Partial<Point> & { width?: number }): {
  path: string;
  head: string;
  end: number;
} {
  const side = x + width / 2;
  const at = (dx: number, dy: number): Point => ({ x: side + dx, y: y + dy });
  const base = at(HEAD_LENGTH, 11);
  const path = `M${textOf(at(0, -9))}C${textOf(at(40, -23))} ${textOf(at(40, 23))} ${textOf(base)}`;
  return { path, head: headAt(at(0, 9), base), end: side + 30 };
}

/** The corners of a head whose tip is at a point. */
function headAt(tip: Point, before: Point): string {
  const base = baseOfHead(tip, before);
  const [dx, dy] = [(tip.x - base.x) / HEAD_LENGTH, (tip.y - base.y) / HEAD_LENGTH];
  const half = HEAD_WIDTH / 2;
  const corners = [
    tip,
    { x: base.x - dy * half, y: base.y + dx * half },
    { x: base.x + dy * half, y: base.y - dx * half },
  ];
  return corners.map(textOf).join(' ');
}

/** The middle of the side of a head that its line ends at. */
function baseOfHead(tip: Point, before: Point): Point {
  return shifted(tip, tip, before, HEAD_LENGTH / (Math.hypot(before.x - tip.x, before.y - tip.y) || 1));
}

/** A point that is moved by a part of the way between two others. */
function shifted(point: Point, from: Point, to: Point, part: number): Point {
  return { x: point.x + (to.x - from.x) * part, y: point.y + (to.y - from.y) * part };
}

function textOf({ x, y }: Point): string {
  return `${round(x)},${round(y)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

type Point = { x: number; y: number };

/** A node as it is given: a name, and how wide its texts are. */
export type GraphNode = { name: string; width: number; height: number };

/** An edge as it is given; without a width it has no label. */
export type GraphEdge = { from: string; to: string; labelWidth: number | undefined };

/** A label of a line, with its place. `edge` is the place of its edge among those given. */
type DrawnLabel = Point & { edge: number; width: number };

/** All edges from one node to another, as one line. */
export type DrawnLine = {
  from: string;
  to: string;
  /** The edges, by their places among those given. */
  edges: number[];
  /** Data of an SVG path. */
  path: string;
  /** Corners of its head, for an SVG polygon. */
  head: string;
  labels: DrawnLabel[];
};

/** A graph with a place for everything; `x` and `y` of nodes and labels are their centres. */
export type GraphDrawing = {
  width: number;
  height: number;
  nodes: (GraphNode & Point)[];
  lines: DrawnLine[];
};
