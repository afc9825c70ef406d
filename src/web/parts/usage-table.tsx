import { formatCount } from '../../format-time.ts';
import type { Html } from '../html.ts';
import { costOf, tokensOf, type UsageRow } from '../runs/read-runs.ts';
import { PageLink } from './link.tsx';

type UsageTableProps = {
  /** What a row is. */
  title: string;
  rows: readonly UsageRow[];
  hrefOf?: (name: string) => string;
};

/** What was used, by a name: counts, and a bar that compares the rows by cost, or by tokens where no cost is known. */
export function UsageTable({ title, rows, hrefOf }: UsageTableProps): Html {
  const measure = rows.some((row) => costOf(row) > 0) ? costOf : tokensOf;
  const most = Math.max(...rows.map(measure), Number.MIN_VALUE);
  return (
    <table class="sums" tabindex={0}>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          <th scope="col" class="number">
            Threads
          </th>
          <th scope="col" class="number">
            Tokens in
          </th>
          <th scope="col" class="number">
            out
          </th>
          <th scope="col" class="number">
            Cost
          </th>
          <td class="share"></td>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            <th scope="row">{hrefOf ? <PageLink href={hrefOf(row.name)}>{row.name}</PageLink> : row.name}</th>
            <td class="number">{formatCount(row.threads)}</td>
            <td class="number">{row.usage ? formatCount(row.usage.inputTokens) : '–'}</td>
            <td class="number">{row.usage ? formatCount(row.usage.outputTokens) : '–'}</td>
            <td class="number">{costText(row)}</td>
            <td class="share">
              <Bar share={measure(row) / most} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The numbers beside it say the same. */
function Bar({ share }: { share: number }): Html {
  return (
    <svg class="bar-of" width="100%" height="10" aria-hidden="true" focusable="false">
      <rect width={`${(share * 100).toFixed(1)}%`} height="10" rx="2" />
    </svg>
  );
}

/** `$1.2345`, with a mark where not all of it is known. */
function costText({ usage }: UsageRow): string {
  if (usage?.costUsd === undefined) return '–';
  return `${usage.isAtLeast ? '≥ ' : ''}${dollars(usage.costUsd)}`;
}

/** An amount as tables have it. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}
