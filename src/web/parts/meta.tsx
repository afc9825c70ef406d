import type { Html } from '../html.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { readableMeta } from '../../thread/step-view.ts';

/** The structured part of a reply: names and values. */
export function Meta({ meta }: { meta: JsonObject }): Html | null {
  const fields = Object.entries(readableMeta(meta));
  if (fields.length === 0) return null;
  return (
    <dl class="meta">
      {fields.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{textOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
