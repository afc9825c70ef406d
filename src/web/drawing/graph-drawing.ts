export type Point = { x: number; y: number };

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
