import { named, prefixed } from './rule.ts';
import type { Rule } from './rule.ts';

/** Tokens of those who serve language models. Sources: the providers' pages on API keys, and GitHub's secret scanning. */
export const aiRules: readonly Rule[] = [
  prefixed('anthropic-key', 'sk-ant-', '[a-z]{2,8}\\d{2}-[\\w-]{60,200}'),
  prefixed('openai-key', 'sk-proj- sk-svcacct- sk-admin- sk-None-', '[\\w-]{40,220}'),
  prefixed('openrouter-key', 'sk-or-', 'v1-[0-9a-f]{64}'),
  // OpenAI's older keys, and the same form at DeepSeek, Moonshot, DashScope, LiteLLM and others.
  prefixed('sk-key', 'sk-', '[A-Za-z0-9]{32,64}'),
  prefixed('langsmith-key', 'lsv2_', '(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}'),
  prefixed('langfuse-key', 'sk-lf-', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'),
  prefixed('groq-key', 'gsk_', '[A-Za-z0-9]{48,64}'),
  prefixed('huggingface-token', 'hf_ api_org_', '[A-Za-z0-9]{30,48}'),
  prefixed('replicate-token', 'r8_', '[A-Za-z0-9]{37,40}'),
  prefixed('xai-key', 'xai-', '[A-Za-z0-9]{70,100}'),
  prefixed('perplexity-key', 'pplx-', '[A-Za-z0-9]{40,64}'),
  prefixed('cerebras-key', 'csk-', '[A-Za-z0-9]{40,64}'),
  prefixed('fireworks-key', 'fw_', '[A-Za-z0-9]{20,40}', { check: hasDigitAndBothCases }),
  prefixed('nvidia-key', 'nvapi-', '[\\w-]{60,80}'),
  prefixed('tavily-key', 'tvly-', '(?:dev-|prod-)?[A-Za-z0-9]{28,40}'),
  prefixed('pinecone-key', 'pcsk_', '[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,70}'),
  prefixed('together-key', 'tgp_v1_', '[\\w-]{43}'),
  prefixed('firecrawl-key', 'fc-', '[0-9a-f]{32}'),
  prefixed('e2b-key', 'e2b_', '[0-9a-f]{40}'),
  prefixed('llamacloud-key', 'llx-', '[A-Za-z0-9]{48}'),
  prefixed('helicone-key', 'sk-helicone-', '[a-z0-9-]{24,40}'),
  prefixed('cursor-key', 'key_', '[0-9a-f]{64}'),
  prefixed('jina-key', 'jina_', '[0-9a-f]{32}[\\w-]{20,40}'),
  prefixed('elevenlabs-key', 'sk_', '[0-9a-f]{48}'),
  prefixed('wandb-key', 'wandb_v1_', '[\\w-]{60,100}'),
  prefixed('voyage-key', 'pa-', '[\\w-]{43}', { check: hasDigitAndBothCases }),
  named('mistral-key', 'mistral codestral', '[A-Za-z0-9]{32}'),
  named('cohere-key', 'cohere co_api', '[A-Za-z0-9]{40}'),
  named('together-key', 'together', '[0-9a-f]{64}'),
  named('deepgram-key', 'deepgram', '[0-9a-f]{40}'),
  named('assemblyai-key', 'assemblyai', '[0-9a-f]{32}'),
  named('wandb-key', 'wandb', '[0-9a-f]{40}'),
  named('stability-key', 'stability', 'sk-[A-Za-z0-9]{48}'),
  named('ai21-key', 'ai21', '[A-Za-z0-9]{32}'),
];

function hasDigitAndBothCases(secret: string): boolean {
  return /\d/.test(secret.slice(3)) && /[a-z]/.test(secret.slice(3)) && /[A-Z]/.test(secret.slice(3));
}
