import { describeBuiltIn } from '../describe-built-in.ts';
import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { asValidated } from '../../schema/typed-schema.ts';
import { RESULT_TOOL } from '../extract/schema-variants.ts';
import { type Conversation, converse, newInput, UsageMeter } from './converse.ts';
import { type LlmConfig, llmConfigSchema } from './llm-config.ts';
import { openModel } from './ask-model.ts';
import { openToolBox } from './open-tool-box.ts';

/** Signs of life without a word of their own are told no more often than this. */
const SIGN_MS = 500;

/** `builtin:llm`: a model behind an OpenAI-compatible server, which works with tools until it is done. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn(
  'llm',
  ['streaming', 'tools', 'mcp', 'usage', 'structured-result'],
  llmConfigSchema,
);

/**
 * Makes an agent that talks with a model.
 *
 * It has no sessions that outlive it: a role that is visited again is told the whole context. The tries of one turn are one
 * conversation.
 */
export function createAgent(config: JsonObject): Agent {
  const checked = asValidated(config, llmConfigSchema);
  let conversation: Conversation | undefined;
  return {
    run: (request) => {
      const { attempt, prompt } = request;
      const known = attempt > 0 ? conversation : undefined;
      conversation = known ?? { messages: [], prompt, turns: 0, costUsd: 0 };
      return runTurn(checked, conversation, known ? newInput(known, prompt) : prompt, request);
    },
    answers: true,
  };
}

async function runTurn(
  config: LlmConfig,
  conversation: Conversation,
  input: string,
  request: AgentRequest,
): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const opened = await openModel(config, request.env);
  const meter = new UsageMeter();
  const onSign = throttled(() => request.emit({ kind: 'usage', usage: meter.total }));
  let result: JsonObject | undefined;
  const { box, close } = await openToolBox(config, request, {
    redact: opened.redact,
    onResult: (meta) => void (result = meta),
    onSign,
  });
  try {
    const talk = { config, opened, conversation, box, meter, onSign };
    const system = instruction(box.tools.length > 1);
    return await converse({ ...talk, system, result: () => result }, input, request);
  } finally {
    await close();
  }
}

/** @param hasWork whether there are tools beside the one that reports the result */
function instruction(hasWork: boolean): string {
  const work =
    'You do your work by calling tools. Their paths start at the working folder, and nothing outside of it can be touched. ' +
    'A tool that fails says why: correct the call, or go another way.';
  const end = `When you are done, write your text without front matter and, in the same answer, call ${RESULT_TOOL} with the fields that the instructions ask for as front matter. Your work ends with that call. A reply that begins with the front matter itself will do as well.`;
  return hasWork ? `${work}\n\n${end}` : end;
}

function throttled(tell: () => void): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < SIGN_MS) return;
    lastMs = nowMs;
    tell();
  };
}
