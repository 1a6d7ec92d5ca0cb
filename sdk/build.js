/** Type-checks, writes dist/ (one file per module with its types, and one minified file) and guards the size. */
import { build } from 'esbuild';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';

const MAX_BYTES = 25 * 1024;
const here = dirname(fileURLToPath(import.meta.url));

const compile = () => {
  const configPath = join(here, 'tsconfig.json');
  const config = ts.parseJsonConfigFileContent(ts.readConfigFile(configPath, ts.sys.readFile).config, ts.sys, here);
  const program = ts.createProgram(config.fileNames, config.options);
  const problems = [...config.errors, ...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  const host = { getCanonicalFileName: (f) => f, getCurrentDirectory: () => here, getNewLine: () => '\n' };
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, host));
};

const bundle = async (outfile) => {
  await build({
    entryPoints: [join(here, 'src/index.ts')],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['socket.io-client'],
    logLevel: 'warning',
  });
  return statSync(outfile).size;
};

try {
  rmSync(join(here, 'dist'), { recursive: true, force: true });
  compile();
  const outfile = join(here, 'dist/trident-im-client.min.js');
  const bytes = await bundle(outfile);
  const zipped = gzipSync(readFileSync(outfile)).length;
  console.log(
    `trident-im-client: ${bytes} bytes minified without socket.io-client (${zipped} zipped), limit ${MAX_BYTES}`,
  );
  if (bytes > MAX_BYTES) throw new Error(`the minified client is larger than ${MAX_BYTES} bytes`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
