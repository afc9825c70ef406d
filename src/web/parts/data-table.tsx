import type { Html } from '../html.ts';

/** A table that scrolls inside its own box. */
export function DataTable({ columns, children }: { columns: readonly string[]; children?: unknown }): Html {
  return (
    <div class="drawing">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
