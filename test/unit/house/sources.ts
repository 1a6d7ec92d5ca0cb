import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

export const ROOT = join(__dirname, '..', '..', '..');

export interface SourceFile {
  /** From the top of the project, with `/`. */
  readonly path: string;
  readonly text: string;
}

export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** All files below a folder whose names end so. */
export function filesBelow(folder: string, ending: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .sort()
    .map((path) => ({ path, text: readText(path) }));
}

/** The module that a file belongs to, `platform/<folder>` for the platform's, else its top folder. */
export function moduleOf(path: string): string {
  return (
    /^src\/modules\/([^/]+)\//.exec(path)?.[1] ?? /^src\/(platform\/[^/]+)\//.exec(path)?.[1] ?? path.split('/')[1]
  );
}
