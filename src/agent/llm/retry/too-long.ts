/** How servers say that a prompt is longer than their model can take; none of them has a status of its own for it. */
const PATTERNS = [
  // OpenAI, Azure, vLLM, OpenRouter: "This model's maximum context length is 8192 tokens", `context_length_exceeded`
  /maximum context length|context[ _]length[ _]exceeded|exceeds? the (?:model's )?context (?:window|length|limit)/iu,
  // Anthropic: "prompt is too long: 210000 tokens > 200000 maximum", "input length and `max_tokens` exceed context limit"
  /prompt is too long|exceeds? context limit|input is too long/iu,
  // Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
  /input token count.{0,40}exceeds the maximum/iu,
  // llama.cpp: "the request exceeds the available context size", `exceed_context_size_error`
  /exceeds? the available context size|exceed_context_size/iu,
  // xAI, Mistral
  /maximum prompt length|too large for model with \d+ maximum context/iu,
];

/** Tells whether an error's words say that the prompt was longer than the model can take. */
export function saysTooLong(words: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(words));
}

/** What helps a turn whose prompt was too long; the end of a reason. */
export const TOO_LONG_HINT = 'compact the thread before it goes on';
