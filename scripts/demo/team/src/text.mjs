export const write = (rows) => rows.map((row) => row.join('  ')).join('\n');
