import { plural } from '../../format-time.ts';
import { hitsInText, type SecretHit } from '../../thread/secret-scan.ts';
import type { Html } from '../html.ts';
import type { Site } from '../site.ts';

/** So many places are named. */
const MAX_PLACES = 20;

type MarkProps = { thread: string; secrets: readonly (SecretHit & { file?: string })[] };

/** Says that something holds what looks like a secret, for which a push refuses it: where and by which rule, never the secret. */
export function SecretMark({ thread, secrets }: MarkProps): Html | null {
  if (secrets.length === 0) return null;
  const places = secrets
    .slice(0, MAX_PLACES)
    .map(({ file, at, rule }) => [file, at, `(${rule})`].filter(Boolean).join(' '));
  return (
    <div class="refusal secrets">
      <p>
        {plural(secrets.length, 'secret')} here, it seems: <code>uwf push</code> refuses the thread.{' '}
        <code>uwf thread redact {thread}</code> takes them out.
      </p>
      <ul>
        {places.map((place) => (
          <li>{place}</li>
        ))}
      </ul>
    </div>
  );
}

/** What looks like a secret in a text. */
export function secretsIn({ secrets }: Site, text: string): SecretHit[] {
  return secrets === undefined ? [] : hitsInText(secrets.redactor, text);
}
