import { UwfError } from '../errors.ts';

/** The process at work on a thread could not be ended. */
export function cannotStop(
  thread: string,
  where: string,
  hint = 'stop it where it runs, as the user it runs as',
): UwfError {
  return new UwfError(`the process at work on thread ${thread} could not be stopped: ${where}`, {
    code: 'cannot-stop',
    kind: 'environment',
    hint,
  });
}

/** A thread that an agent starts or calls would lie deeper than the limit. */
export class DepthExceeded extends UwfError {
  constructor(workflow: string, maxDepth: number) {
    super(`${workflow} is not run: it would be a thread more than ${maxDepth} levels below the first`, {
      code: 'depth-exceeded',
      kind: 'data',
      hint: 'a workflow that calls itself needs a way out; limits.maxDepth can be raised',
    });
  }
}

/** A call of a child thread has the key of another call. */
export class KeyTaken extends UwfError {
  constructor(key: string, child: string) {
    super(`the key '${key}' belongs to child thread ${child}, which has another task, workflow or caller`, {
      code: 'key-taken',
      kind: 'data',
      hint: 'give each child thread of a turn a key of its own',
    });
  }
}

/** The process that took a thread's lease for another one has ended, or was stopped, before it handed it over. */
export function handOverFailed(thread: string): UwfError {
  return new UwfError(
    `the work on thread ${thread} was not handed over: the process that wanted to start it has ended`,
    {
      code: 'hand-over-failed',
      kind: 'conflict',
      hint: `run 'uwf thread run ${thread}'`,
    },
  );
}

/** A question was put to an agent that takes turns alone: a program that would do its work again, or a workflow. */
export class CannotBeAsked extends UwfError {
  constructor({ name, package: reference }: { name: string; package: string }) {
    const more: Record<string, string> = {
      'builtin:command': `, or, if its program may be run for questions, say 'answers: true' in the config of '${name}'`,
      'builtin:workflow': ', or ask a step of the thread that it called',
    };
    super(`agent '${name}' (${reference}) was not made to be asked: it takes turns alone, and was not run`, {
      code: 'cannot-be-asked',
      kind: 'usage',
      hint: `name another agent with --agent${more[reference] ?? ''}`,
    });
  }
}

/** It cannot be told whether a process works on a thread. */
export class LeaseDamaged extends UwfError {
  constructor(path: string) {
    super(`${path} says who works on the thread, and is damaged`, {
      code: 'lease-damaged',
      kind: 'environment',
      hint: 'try again in a minute: a process that works on the thread writes it anew, and one that does not loses it',
      facts: { path },
    });
  }
}

/** A block goes on when its branches have: other machines take their turns. Nothing was stored of the block's turn. */
export class BranchesElsewhere extends UwfError {
  constructor(thread: string, block: string, count: number) {
    const what = count === 1 ? 'a branch' : `${count} branches`;
    super(`block '${block}' of thread ${thread} waits for ${what} that other machines run`, {
      code: 'branches-elsewhere',
      kind: 'conflict',
      facts: { thread, block },
    });
  }
}
