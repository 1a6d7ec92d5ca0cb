import type { TestNode } from '../../support/stage.js';

export async function metricsOf(node: TestNode): Promise<string> {
  return (await fetch(`${node.url}/metrics`)).text();
}

/** Errors that nothing handled since the node started. */
export async function strayErrors(node: TestNode): Promise<number> {
  const samples = [...(await metricsOf(node)).matchAll(/^im_stray_errors_total\{[^}]*\} (\d+)$/gm)];
  return samples.reduce((sum, [, count]) => sum + Number(count), 0);
}
