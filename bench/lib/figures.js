'use strict';

/** The middle value; NaN of nothing. */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value that `share` (0 to 1) of the sorted values do not exceed; NaN of nothing. */
function percentile(sorted, share) {
  if (sorted.length === 0) return NaN;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

/** Medians, field by field, of records with the same numeric fields. */
function medians(records) {
  const fields = Object.keys(records[0] ?? {});
  return Object.fromEntries(fields.map((field) => [field, median(records.map((record) => record[field]))]));
}

/** The median of the ratios of each round: neighbours on the machine slow both sides of a round alike. */
function medianRatio(numerators, denominators) {
  return median(numerators.map((value, index) => value / denominators[index]));
}

function fixed(value, digits = 1) {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}

/** A Markdown table with aligned columns. */
function table(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(all[0]), rule, ...all.slice(1).map(line)].join('\n');
}

module.exports = { median, percentile, medians, medianRatio, fixed, table };
