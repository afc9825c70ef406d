import type { Report } from '../diagnostics/report.ts';
import { reportType, type Fields } from './fields.ts';
import { label, MAX_NEEDS } from './file-schema-parts.ts';

const labelRule = 'a label has up to 64 of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit';

/**
 * Reads the `needs` of a role. A label that is wrong, or there twice, is reported and left out.
 * @returns sorted, each once
 */
export function readNeeds(report: Report, fields: Fields): string[] {
  const value = fields.get('needs') ?? [];
  if (!Array.isArray(value)) {
    fields.reportType('needs', 'a list of labels, such as [docker, gpu]');
    return [];
  }
  if (value.length > MAX_NEEDS) {
    const message = `${fields.name} needs ${value.length} labels, and at most ${MAX_NEEDS} are allowed`;
    fields.reportFault('too-large', 'needs', message);
  }
  const labels = new Set<string>();
  for (const [at, text] of value.entries()) {
    const path = [...fields.pathOf('needs'), at];
    const what = `a label in 'needs' of ${fields.name}`;
    if (typeof text !== 'string') reportType(report, path, what, 'a text', text);
    else if (!label.test(text)) report.error('bad-label', path, `'${text}' cannot be ${what}`, { hint: labelRule });
    else if (labels.has(text)) report.error('bad-label', path, `${fields.name} needs '${text}' twice`);
    else labels.add(text);
  }
  return [...labels].toSorted();
}
