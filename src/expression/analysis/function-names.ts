/** JSONata's functions whose result is not a function of their arguments, and `$eval`, which hides what it names. */
export const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(['now', 'millis', 'random', 'shuffle', 'eval']);

/** All functions of JSONata 2.2, without `$`. Source: https://docs.jsonata.org, sections "… functions". */
export const JSONATA_FUNCTIONS: ReadonlySet<string> = new Set(
  `string length substring substringBefore substringAfter uppercase lowercase trim pad contains split join match replace eval
  base64encode base64decode encodeUrlComponent encodeUrl decodeUrlComponent decodeUrl number abs floor ceil round power sqrt random
  formatNumber formatBase formatInteger parseInteger sum max min average boolean not exists count append sort reverse shuffle distinct
  zip keys lookup spread merge sift each error assert type now millis fromMillis toMillis map filter single reduce clone`.split(
    /\s+/,
  ),
);

/** The functions over `$steps` that uwf adds wherever `$steps` is bound. */
export const STEP_FUNCTIONS: ReadonlySet<string> = new Set(['first', 'last', 'visits']);

/** The operators that compare two values. */
export const COMPARISONS: readonly string[] = ['=', '!=', '<', '<=', '>', '>='];

/** Operators whose result is no larger than what they are given. */
export const PLAIN_OPERATORS: ReadonlySet<unknown> = new Set([...COMPARISONS, ...'+ - * / % and or in'.split(' ')]);

/** The types of literal nodes. */
export const LITERALS: ReadonlySet<string> = new Set(['string', 'number', 'value']);

/** What `when` of a rule may name beside JSONata's own functions. */
export const RULE_NAMES: readonly string[] = ['steps', 'start', 'threadId', ...STEP_FUNCTIONS];

/** A variable of rules from a block, and of its `join`: the branches. */
export const BRANCHES = 'branches';

/** What the `join` of a block may name beside JSONata's own functions. */
export const JOIN_NAMES: readonly string[] = [BRANCHES, 'total'];

/** What a role's `check` may name beside JSONata's own functions. */
export const CHECK_NAMES: readonly string[] = ['meta', 'steps', 'start', ...STEP_FUNCTIONS];
