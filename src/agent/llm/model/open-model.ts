import type { LanguageModel } from 'ai';

import { AgentNotAuthorized } from '../../agent-errors.ts';
import type { LlmConfig } from '../llm-config.ts';
import { AnswerTooLarge } from '../retry/model-failure.ts';

/** Of one answer as it comes over the wire, some 250 bytes for each token. */
const DEFAULT_MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A model that can be asked, and what keeps its key to itself. */
export type OpenModel = {
  model: LanguageModel;
  /** Takes the key out of a text. */
  redact: (text: string) => string;
};

/**
 * Opens the model that a configuration names. Nothing is sent yet.
 * @param env where the key is looked for, under the name that the configuration gives
 * @throws {AgentNotAuthorized} if there is no key under that name
 */
export async function openModel(config: LlmConfig, env: Readonly<Record<string, string>>): Promise<OpenModel> {
  const { baseUrl, apiKeyEnv, apiKeyHeader, headers = {} } = config;
  const key = apiKeyEnv === undefined ? undefined : env[apiKeyEnv];
  if (apiKeyEnv !== undefined && !key) {
    const message = `the environment variable ${apiKeyEnv}, which is to hold the key for ${baseUrl}, is not set`;
    const hint = `set it before uwf runs: export ${apiKeyEnv}=…`;
    throw new AgentNotAuthorized(message, { subject: baseUrl, hint });
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: 'llm',
    baseURL: baseUrl,
    includeUsage: true,
    fetch: boundedFetch(config.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES),
    headers: { ...headers, ...(key && apiKeyHeader !== undefined && { [apiKeyHeader]: key }) },
    ...(key && apiKeyHeader === undefined && { apiKey: key }),
  });
  return {
    model: provider(config.model),
    redact: (text) => (key ? text.replaceAll(key, '[key]') : text),
  };
}

/**
 * A `fetch` that ends an answer which does not end by itself, and follows no redirect: `fetch` would send the prompt, and
 * a key in a header of its own, to whatever host the server names.
 */
function boundedFetch(maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    let bytes = 0;
    const bounded = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          if (bytes <= maxBytes) controller.enqueue(chunk);
          else controller.error(new AnswerTooLarge(`the answer has more than ${maxBytes} bytes`));
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(bounded, { status, statusText, headers });
  };
}
