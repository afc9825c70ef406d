import { append } from '../append.js';
import { bigPack } from '../big-pack.js';
import { diskStore } from '../disk-store.js';
import { folding } from '../folding.js';
import { growth } from '../growth.js';
import { follow } from '../follow.js';
import { import_ } from '../import.js';
import { langgraph } from '../langgraph.js';
import { lists } from '../lists.js';
import { lookup } from '../lookup.js';
import { push } from '../push.js';
import { redact } from '../redact.js';
import { scaling } from '../scaling.js';
import { scalingModel } from '../scaling-model.js';
import { startUp } from '../start-up.js';
import { walk } from '../walk.js';

/**
 * All benchmarks, in the order in which they run.
 *
 * Each has a name, a summary, and `compare`, which prepares its data, yields the comparisons to measure, and removes its
 * data. A quick run without names leaves out the slow ones.
 */
export const benches = [
  startUp,
  append,
  import_,
  walk,
  lists,
  diskStore,
  lookup,
  push,
  redact,
  langgraph,
  folding,
  follow,
  growth,
  bigPack,
  scaling,
  scalingModel,
];
