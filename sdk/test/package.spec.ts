import { readdirSync, readFileSync, writeFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const sdk = join(__dirname, '..');

/** The example asks REST for JSON of a shape it knows: what a TypeScript app would write as a type argument. */
const typed = (code: string): string =>
  code
    .replace("client.request('GET'", "client.request<{ items: { topic: string }[] }>('GET'")
    .replace("startsWith('grp_'))", "startsWith('grp_'))!")
    .replace('({ seq, from, content })', '({ seq, from, content }: Message)')
    .replace('import { TridentClient }', 'import { TridentClient, type Message }');

let last: ts.Program | undefined;

/** What the compiler says about one file; the sources behind it are checked by the build. */
const problemsOf = (file: string): string[] => {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(sdk, '../node_modules/@types')],
    paths: { 'trident-im-client': [join(sdk, 'src/index.ts')] },
  };
  const program = ts.createProgram([file], options, undefined, last);
  last = program;
  const source = program.getSourceFile(file);
  const problems = [
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(source),
    ...program.getSemanticDiagnostics(source),
  ];
  return problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
};

describe('the package', () => {
  it('has an example that compiles as printed against the public types', () => {
    const readme = readFileSync(join(sdk, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);
    expect(blocks).toHaveLength(1);
    expect(blocks[0].trim().split('\n').length).toBeLessThanOrEqual(45);
    const folder = mkdtempSync(join(tmpdir(), 'trident-example-'));
    try {
      symlinkSync(join(sdk, '../node_modules'), join(folder, 'node_modules'));
      const file = join(folder, 'chat.mts');
      writeFileSync(file, typed(blocks[0]));
      expect(problemsOf(file)).toEqual([]);
      // the check can fail: a name that is not there is noticed
      writeFileSync(file, typed(blocks[0]).replace('lobby.sendText', 'lobby.sendTxt'));
      expect(problemsOf(file)).toHaveLength(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 60_000);

  it('has no `any` in its types', () => {
    const found: string[] = [];
    for (const name of readdirSync(join(sdk, 'src'))) {
      const source = ts.createSourceFile(
        name,
        readFileSync(join(sdk, 'src', name), 'utf8'),
        ts.ScriptTarget.ES2022,
        true,
      );
      const visit = (node: ts.Node): void => {
        if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(`${name}:${node.getStart()}`);
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
    expect(found).toEqual([]);
  });
});
