/** A part of what an agent does in a turn. What it says or thinks in one go is one part. */
export type TurnPart = {
  kind: 'text' | 'thought' | 'plan' | 'tool' | 'result' | 'error' | 'notice';
  text: string;
};

/** What the server tells a browser. The browser loads a page again to see a new state. */
export type LiveEvent =
  | { event: 'state'; topic: string; state: string }
  /** What was said in the turn that goes on, between two places of the thread's journal. */
  | { event: 'words'; thread: string; from: string; place: string; parts: TurnPart[] }
  /** A turn has begun or ended, or a part of the journal is gone. */
  | { event: 'turn'; thread: string };
